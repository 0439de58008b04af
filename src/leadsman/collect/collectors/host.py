"""This host: sockets, neighbours, interfaces, kernel settings, counters, kernel log, processors, TCP handshakes."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from leadsman.collect.collector import COMMAND_TIMEOUT, Collector, NotCollected, Probe
from leadsman.collect.handshakes import capture_handshakes, tcpdump_line
from leadsman.collect.numbers import FiniteNumber
from leadsman.collect.run_command import command_output

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
KERNEL_LOG_PATTERN = "neighbou?r table overflow|SYN flooding|soft lockup|detected .*stall|timekeeping watchdog"
"""Lines that sources/kernel_log.py reads. Other lines of the kernel's log are not collected."""
MAX_CAPTURE_SECONDS = 600

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
"""File, its commands (the first one that the host has is run), and whether the item is repeated in a series."""


@contextmanager
def probes(
    *, handshakes: str | None, seconds: float, device: str | None, kernel_log: bool
) -> Iterator[Iterable[Probe]]:
    """Yield the probes of the host."""
    yield _probes(handshakes, seconds, device, kernel_log=kernel_log)


def _probes(ports: str | None, seconds: float, device: str | None, *, kernel_log: bool) -> Iterator[Probe]:
    for name, commands, again in PROBES:
        yield _probe(name, commands, in_series=again)
    if kernel_log:
        command = f"dmesg --time-format iso | grep -Ei '{KERNEL_LOG_PATTERN}' || true"
        yield Probe(file="host/kernel.log", source="kernel", shell_command=command, argv=("sh", "-c", command))
    if ports:
        yield Probe(
            file="host/handshakes.txt",
            source="handshakes",
            shell_command=_tcpdump(ports, seconds, device),
            read=lambda: _capture(ports, seconds, device),
        )


def _probe(name: str, commands: Sequence[str], *, in_series: bool) -> Probe:
    fallbacks = " || ".join(f"{command} 2>/dev/null" for command in commands[:-1])
    shell_command = f"{fallbacks} || {commands[-1]}" if fallbacks else commands[-1]
    return Probe(
        file=f"host/{name}.txt",
        source=name,
        shell_command=shell_command,
        read=lambda: _first_that_works(commands),
        in_series=in_series,
    )


def _first_that_works(commands: Sequence[str]) -> Iterator[str]:
    """Yield the output of the first command that this host has. Settings that a kernel lacks are no failure."""
    for number, command in enumerate(commands, start=1):
        lines: list[str] = []
        try:
            lines.extend(command_output(command.split(), timeout=COMMAND_TIMEOUT))
        except NotCollected:
            if not lines and number == len(commands):
                raise
        if lines:
            yield from lines
            return


def _tcpdump(ports: str, seconds: float, device: str | None) -> str:
    """Return the tcpdump command. The interface `any` shows no MACs, so the default route's interface is named."""
    interface = device or "$(ip route show default | awk '{print $5; exit}')"
    port_filter = " or ".join(f"tcp port {port}" for port in ports.split(","))
    packets = f"({port_filter}) and tcp[tcpflags] & (tcp-syn|tcp-rst) != 0"
    return f"timeout {seconds:g} tcpdump -i {interface} -e -n -tttt -l '{packets}'"


def _capture(ports: str, seconds: float, device: str | None) -> Iterator[str]:
    try:
        for packet, length, at in capture_handshakes(frozenset(map(int, ports.split(","))), seconds, device):
            yield tcpdump_line(packet, length, at) + "\n"
    except PermissionError as error:
        raise NotCollected("Capturing packets needs root, or CAP_NET_RAW") from error
    except OSError as error:
        raise NotCollected(f"Packets of {device or 'this host'} cannot be captured: {error.strerror}") from error


class _Ports(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on, and only to the type checker
    """Ports, separated by commas."""

    name = "PORTS"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the ports unchanged, or fail with an example."""
        if not all(port.isdigit() and 0 < int(port) < 1 << 16 for port in value.split(",")):
            self.fail(f"{value!r} is not a list of ports such as 9092 or 9092,9093.", param, ctx)
        return value


COLLECTOR = Collector(
    title="Sockets, neighbours, settings; TCP handshakes (--handshakes)",
    help=(
        "Read this host's TCP sockets, neighbour table, interfaces, routes, kernel settings, counters, kernel log, and "
        "the CPU steal time of its processors. "
        "Run it on the broker that cannot be reached and on a client that cannot reach it, at the same time. Only "
        "--handshakes needs root."
    ),
    parameters=(
        click.Option(
            ["--handshakes"],
            type=_Ports(),
            metavar="PORTS",
            help="Also capture TCP handshakes on these ports, with MACs. Needs root or CAP_NET_RAW.",
        ),
        click.Option(
            ["--seconds"],
            type=FiniteNumber(0.1, MAX_CAPTURE_SECONDS),
            default=15.0,
            show_default=True,
            help="With --handshakes: duration of the capture in seconds.",
        ),
        click.Option(["--device"], help="With --handshakes: the interface.  [default: all]"),
        click.Option(["--kernel-log/--no-kernel-log"], default=True, help="Read the kernel's log, or not."),
    ),
    probes=probes,
    examples=(
        "leadsman collect host --out incident --as broker-1",
        "leadsman collect host --handshakes 9092 --out incident",
        "leadsman collect host --repeat 5s --for 1m --out incident",
        "leadsman collect host --print-commands",
    ),
)
