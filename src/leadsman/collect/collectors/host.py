"""This host's network and processors: sockets, neighbours, interfaces, kernel settings, counters, log, handshakes."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from leadsman.collect import handshakes
from leadsman.collect.collector import COMMAND_WITHIN, Collector, CouldNotBeHad, Probe
from leadsman.collect.run import output

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

SETTINGS = (
    "net.ipv4.neigh",
    "net.ipv6.neigh",
    "net.ipv4.tcp_syn_retries",
    "net.ipv4.tcp_synack_retries",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_abort_on_overflow",
    "net.ipv4.tcp_mtu_probing",
    "net.core.somaxconn",
    "net.ipv4.conf.all.arp_accept",
    "net.ipv4.conf.all.rp_filter",
)
COUNTERS = (
    "TcpActiveOpens TcpAttemptFails TcpRetransSegs TcpOutRsts TcpExtListen* TcpExtTCPReqQFull* TcpExtTCPSynRetrans"
)
KERNEL_WORDS = "neighbou?r table overflow|SYN flooding|soft lockup|detected .*stall|timekeeping watchdog"
"""What sources/kernel_log.py understands: the rest of a kernel's log is not ours to carry away."""
LONGEST_WATCH_SECONDS = 600

PROBES: Sequence[tuple[str, Sequence[str], bool]] = (
    ("links", ("ip address",), True),
    ("routes", ("ip route",), True),
    ("sockets", ("ss -tano", "netstat -tan", "cat /proc/net/tcp /proc/net/tcp6"), True),
    ("neighbours", ("ip -s neigh", "arp -an", "cat /proc/net/arp"), True),
    ("counters", (f"nstat -asz {COUNTERS}", "cat /proc/net/snmp /proc/net/netstat"), True),
    ("neighbour-table", ("cat /proc/net/stat/arp_cache",), True),
    ("neighbour-table-6", ("cat /proc/net/stat/ndisc_cache",), True),
    ("processors", ("grep ^cpu /proc/stat",), True),
    ("settings", (f"sysctl {' '.join(SETTINGS)}",), False),
    (
        "clock",
        (
            "chronyc -n tracking",
            "timedatectl show",
            "cat /sys/devices/system/clocksource/clocksource0/current_clocksource",
        ),
        False,
    ),
)
"""File, the commands that give it (the first one that the host has), and whether it changes while a series is taken."""


@contextmanager
def probes(*, ports: str | None, seconds: float, device: str | None, kernel_log: bool) -> Iterator[Iterable[Probe]]:
    """Yield what is asked of the host."""
    yield _probes(ports, seconds, device, kernel_log=kernel_log)


def _probes(ports: str | None, seconds: float, device: str | None, *, kernel_log: bool) -> Iterator[Probe]:
    for name, commands, again in PROBES:
        yield _probe(name, commands, again=again)
    if kernel_log:
        words = f"dmesg --time-format iso | grep -Ei '{KERNEL_WORDS}' || true"
        yield Probe(file="host/kernel.log", source="kernel", typed=words, argv=("sh", "-c", words))
    if ports:
        yield Probe(
            file="host/handshakes.txt",
            source="handshakes",
            typed=_tcpdump(ports, seconds, device),
            take=lambda: _watched(ports, seconds, device),
        )


def _probe(name: str, commands: Sequence[str], *, again: bool) -> Probe:
    tolerant = " || ".join(f"{command} 2>/dev/null" for command in commands[:-1])
    typed = f"{tolerant} || {commands[-1]}" if tolerant else commands[-1]
    return Probe(
        file=f"host/{name}.txt", source=name, typed=typed, take=lambda: _first_that_works(commands), again=again
    )


def _first_that_works(commands: Sequence[str]) -> Iterator[str]:
    """Yield what the first command prints that this host has. Settings that a kernel lacks are no failure."""
    for number, command in enumerate(commands, start=1):
        told: list[str] = []
        try:
            told.extend(output(command.split(), within=COMMAND_WITHIN))
        except CouldNotBeHad:
            if not told and number == len(commands):
                raise
        if told:
            yield from told
            return


def _tcpdump(ports: str, seconds: float, device: str | None) -> str:
    """Return the plain command. On `any` there would be no MACs, so the default route's interface is named."""
    where = device or "$(ip route show default | awk '{print $5; exit}')"
    which = " or ".join(f"tcp port {port}" for port in ports.split(","))
    return (
        f"timeout {seconds:g} tcpdump -i {where} -e -n -tttt -l '({which}) and tcp[tcpflags] & (tcp-syn|tcp-rst) != 0'"
    )


def _watched(ports: str, seconds: float, device: str | None) -> Iterator[str]:
    try:
        for packet, length, at in handshakes.watch(frozenset(map(int, ports.split(","))), seconds, device):
            yield handshakes.line(packet, length, at) + "\n"
    except PermissionError as error:
        raise CouldNotBeHad("Capturing packets needs root, or CAP_NET_RAW") from error
    except OSError as error:
        raise CouldNotBeHad(f"Packets of {device or 'this host'} cannot be captured: {error.strerror}") from error


class _Ports(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on, and only to the type checker
    """Ports parted by commas."""

    name = "PORTS"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return them as they are, or fail with an example."""
        if not all(port.isdigit() and 0 < int(port) < 1 << 16 for port in value.split(",")):
            self.fail(f"{value!r} are no ports such as 9092 or 9092,9093.", param, ctx)
        return value


COLLECTOR = Collector(
    title="This host: sockets, neighbours, interfaces, kernel settings, processors, and handshakes when asked",
    help=(
        "Read this host's TCP sockets, neighbour table, interfaces, routes, kernel settings, counters, kernel log, and "
        "the time that its processors were kept from running. "
        "Run it on the broker that cannot be reached and on a client that cannot reach it, at the same time. It needs "
        "no root; with --handshakes it does."
    ),
    parameters=(
        click.Option(
            ["--handshakes", "ports"],
            type=_Ports(),
            metavar="PORTS",
            help="Also watch connections being opened on these ports, with MACs. Needs root or CAP_NET_RAW.",
        ),
        click.Option(
            ["--seconds"],
            type=click.FloatRange(0.1, LONGEST_WATCH_SECONDS),
            default=15.0,
            show_default=True,
            help="With --handshakes: how long.",
        ),
        click.Option(["--device"], help="With --handshakes: the interface.  [default: all]"),
        click.Option(["--kernel-log/--no-kernel-log"], default=True, help="Whether to read the kernel's log."),
    ),
    probes=probes,
    examples=(
        "leadsman collect host --out incident --as broker-1",
        "leadsman collect host --handshakes 9092 --out incident",
        "leadsman collect host --repeat 5s --for 1m --out incident",
        "leadsman collect host --print-commands",
    ),
)
