"""Prints what a host says of itself: `ip addr`, `ip -br addr`, `ip -br link`, `sysctl -a`, and the kernel's log."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from random import Random

    from bench.production.networks_fleet import Node

LOOPBACK = """1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000
    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00
    inet 127.0.0.1/8 scope host lo
       valid_lft forever preferred_lft forever
    inet6 ::1/128 scope host{space}
       valid_lft forever preferred_lft forever
""".format(space=" ")


def ip_addr(node: Node, *, second_mac: str | None = None, lease: int = 2400) -> str:
    """`ip addr`; with a second interface in the same subnet if `second_mac` is given."""
    return LOOPBACK + "".join(_interface(node, n, mac, lease) for n, mac in enumerate(_macs(node, second_mac)))


def _macs(node: Node, second_mac: str | None) -> Sequence[str]:
    return (node.mac, second_mac) if second_mac else (node.mac,)


def _link_local(mac: str) -> str:
    parts = [int(part, 16) for part in mac.split(":")]
    head = f"{parts[0] ^ 2:x}{parts[1]:02x}:{parts[2]:x}ff:fe{parts[3]:02x}:{parts[4] << 8 | parts[5]:x}"
    return f"fe80::{head}"


def _second_address(node: Node) -> str:
    octets = node.address.split(".")
    return f"10.4.{int(octets[2]) + 9}.{octets[3]}"


def _interface(node: Node, index: int, mac: str, lease: int) -> str:
    device, address = f"eth{index}", node.address if index == 0 else _second_address(node)
    lines = [
        f"{index + 2}: {device}: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP group default qlen 1000",
        f"    link/ether {mac} brd ff:ff:ff:ff:ff:ff",
        f"    inet {address}/20 brd 10.4.15.255 scope global dynamic {device}",
        f"       valid_lft {lease}sec preferred_lft {lease}sec",
    ]
    if index == 0:
        lines += [f"    inet6 {node.address6}/64 scope global ", "       valid_lft forever preferred_lft forever"]
    lines += [f"    inet6 {_link_local(mac)}/64 scope link ", "       valid_lft forever preferred_lft forever"]
    return "\n".join(lines) + "\n"


def ip_br_addr(node: Node) -> str:
    return (
        "lo               UNKNOWN        127.0.0.1/8 ::1/128 \n"
        f"eth0             UP             {node.address}/20 {node.address6}/64 {_link_local(node.mac)}/64 \n"
    )


def ip_br_link(node: Node) -> str:
    return (
        "lo               UNKNOWN        00:00:00:00:00:00 <LOOPBACK,UP,LOWER_UP> \n"
        f"eth0             UP             {node.mac} <BROADCAST,MULTICAST,UP,LOWER_UP> \n"
    )


def sysctl(hosts: int, **changed: int) -> Iterator[str]:
    """An extract of `sysctl -a` of a broker; thresholds suit the number of neighbours. `changed` names rp_filter."""
    first, second, third = (128, 512, 1024) if hosts < 500 else (4096, 8192, 16_384)  # noqa: PLR2004 - Linux' defaults fill up there
    values = {
        "net.core.somaxconn": 4096,
        "net.ipv4.conf.all.arp_accept": 0,
        "net.ipv4.conf.all.arp_ignore": 0,
        "net.ipv4.conf.all.rp_filter": changed.get("rp_filter", 2),
        "net.ipv4.conf.eth0.rp_filter": changed.get("rp_filter", 2),
        "net.ipv4.neigh.default.base_reachable_time_ms": 30_000,
        "net.ipv4.neigh.default.gc_interval": 30,
        "net.ipv4.neigh.default.gc_stale_time": 60,
        "net.ipv4.neigh.default.gc_thresh1": changed.get("gc_thresh1", first),
        "net.ipv4.neigh.default.gc_thresh2": changed.get("gc_thresh2", second),
        "net.ipv4.neigh.default.gc_thresh3": changed.get("gc_thresh3", third),
        "net.ipv4.tcp_max_syn_backlog": 2048,
        "net.ipv4.tcp_syn_retries": 6,
        "net.ipv4.tcp_synack_retries": 5,
        "net.ipv4.tcp_syncookies": 1,
    }
    for name, value in values.items():
        yield f"{name} = {value}\n"


def kernel_log(node: Node, texts: Sequence[str], *, begin: datetime, end: datetime, random: Random) -> Iterator[str]:
    """/var/log/kern.log with `texts` said about every ten seconds."""
    moment, uptime = begin, 3_456_000 + random.random() * 9_000
    while moment < end:
        yield f"{moment:%b %d %H:%M:%S} {node.name} kernel: [{uptime:.6f}] {random.choice(texts)}\n"
        step = random.uniform(4, 18)
        moment, uptime = moment + timedelta(seconds=step), uptime + step
