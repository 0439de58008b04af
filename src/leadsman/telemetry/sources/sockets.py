"""TCP sockets of a host: `ss -tan`, `ss -tanoi`, `ss -lnt`, `netstat -tan`, /proc/net/tcp and tcp6.

A broker has tens of thousands of established connections that say nothing one by one. They are counted by their two
ends, and past MOST_ENDS only in all; half-open ones are told each, because a stale neighbour shows in them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING

from leadsman import vocabulary as v
from leadsman.telemetry.addresses import address, end
from leadsman.telemetry.reading import Facts, Reading, decoded_lines, first_lines
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from leadsman.telemetry.reading import About

MOST_ENDS = 300
"""Pairs of ends with established connections that are told of one output: more than a matrix has room for."""

SS_HEAD = re.compile(rb"\s*(?:Netid\s+)?(?:State\s+)?Recv-Q\s+Send-Q\s+Local Address:Port\s+Peer Address:Port")
NETSTAT_HEAD = re.compile(rb"Proto\s+Recv-Q\s+Send-Q\s+Local Address\s+Foreign Address\s+State")
PROC_HEAD = re.compile(rb"\s*sl\s+local_address\s+rem(?:ote)?_address\s+st\s")
SS_BARE = re.compile(
    rb"(?:ESTAB|SYN-SENT|SYN-RECV|LISTEN|TIME-WAIT|CLOSE-WAIT|FIN-WAIT-[12]|LAST-ACK|CLOSING)\s+\d+\s+\d+\s+\S+:\S+\s+\S+:\S+"
)
SS_ROW = re.compile(r"(?:tcp\S*\s+)?([A-Z][A-Z0-9-]+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+)(.*)")
SS_ROW_WITHOUT_STATE = re.compile(r"(?:tcp\s+)?(\d+)\s+(\d+)\s+(\S+)\s+(\S+)(.*)")
STATE_ASKED = re.compile(r"\bstate (syn-sent|syn-recv|established|listening)")
TIMER = re.compile(r"timer:\((\w+),[^,)]*,(\d+)\)")
PROC_STATES = {
    "01": "ESTAB",
    "02": "SYN-SENT",
    "03": "SYN-RECV",
    "0A": "LISTEN",
    "0C": "SYN-RECV",
}  # fmt: skip - a table
NAMES = {"ESTABLISHED": "ESTAB", "LISTENING": "LISTEN", "SYN_RCVD": "SYN-RECV", "SYN-RCVD": "SYN-RECV"}
TOLD = frozenset({"ESTAB", "SYN-SENT", "SYN-RECV", "LISTEN"})
"""States that say whether somebody can connect. Closing ones say how somebody took leave."""

LABELS = ("state", "local", "local_port", "remote", "remote_port", "recv_q", "send_q", "retransmits")


@dataclass(frozen=True, slots=True)
class Socket:
    """One line of a list."""

    line: int
    text: str
    state: str
    local: tuple[str, str]
    remote: tuple[str, str]
    queues: tuple[str, str]
    retransmits: str | None = None

    @property
    def troubled(self) -> bool:
        """Whether what it sent is not answered."""
        return self.state != "ESTAB" or (self.retransmits or "0") != "0"


@dataclass(slots=True)
class Counted:
    """Established connections between the same two ends: the first one's line, and how many."""

    socket: Socket
    count: int = 1


@dataclass(slots=True)
class Table:
    """The sockets of one output that are told."""

    alone: list[Socket] = field(default_factory=list)
    ends: dict[tuple[str, ...], Counted] = field(default_factory=dict)
    further: Counted | None = None
    services: set[str] = field(default_factory=set)

    def add(self, socket: Socket) -> None:
        """Take one socket in."""
        if socket.state == "LISTEN":
            self.services.add(socket.local[1])
        if socket.troubled:
            self.alone.append(socket)
            return
        ends = self._ends(socket)
        if ends in self.ends:
            self.ends[ends].count += 1
        elif len(self.ends) < MOST_ENDS:
            self.ends[ends] = Counted(socket)
        elif self.further is None:
            self.further = Counted(socket)
        else:
            self.further.count += 1

    def _ends(self, socket: Socket) -> tuple[str, ...]:
        """Leave out the port of whichever end is not the service."""
        serves = self.serves(socket)
        local = socket.local if serves else (socket.local[0], "")
        remote = (socket.remote[0], "") if serves else socket.remote
        return (*local, *remote)

    def serves(self, socket: Socket) -> bool:
        """Whether this host is the server of a connection: it listens there, or its port is the lower one."""
        ports = socket.local[1], socket.remote[1]
        return ports[0] in self.services or (all(map(str.isdigit, ports)) and int(ports[0]) < int(ports[1]))

    def facts(self) -> Iterator[Facts]:
        """Return all of it as columns."""
        rows = [(each, 1, _labels(each)) for each in self.alone]
        for (local, local_port, remote, remote_port), counted in self.ends.items():
            known = {"local": local, "local_port": local_port, "remote": remote, "remote_port": remote_port}
            rows.append((counted.socket, counted.count, {**_labels(counted.socket), **known}))
        if self.further is not None:
            blank = {"local": "", "local_port": "", "remote": "", "remote_port": ""}
            rows.append((self.further.socket, self.further.count, {**_labels(self.further.socket), **blank}))
        if rows:
            yield Facts(
                name=v.SOCKET_SEEN,
                lines=[socket.line for socket, _, _ in rows],
                texts=[socket.text for socket, _, _ in rows],
                values=[float(count) for _, count, _ in rows],
                labels={name: [labels.get(name) or None for _, _, labels in rows] for name in LABELS},
            )


def _labels(socket: Socket) -> dict[str, str | None]:
    (local, local_port), (remote, remote_port), (received, sent) = socket.local, socket.remote, socket.queues
    values = (socket.state, local, local_port, remote, remote_port, received, sent, socket.retransmits)
    return dict(zip(LABELS, values, strict=True))


def tells(head: bytes) -> bool:
    """Whether an output begins as one of these lists."""
    lines = first_lines(head)
    return any(pattern.match(line) for line in lines[:3] for pattern in (SS_HEAD, NETSTAT_HEAD, PROC_HEAD, SS_BARE))


def facts(blocks: Iterable[bytes], about: About) -> Iterator[Facts]:
    """Read whichever list it is; several may follow one another in one file."""
    table = Table()
    read = _ss(None)  # rows without their head: `ss -tan | grep SYN`
    for number, line in decoded_lines(blocks):
        head = line.encode("utf-8", "replace")
        if SS_HEAD.match(head):
            read = _ss(None if b"State" in head else _asked_for(about.command))
        elif NETSTAT_HEAD.match(head):
            read = _netstat
        elif PROC_HEAD.match(head):
            read = _proc
        elif (socket := read(number, line)) is not None and socket.state in TOLD:
            table.add(socket)
    yield from table.facts()


def _named(state: str) -> str:
    return NAMES.get(state, state.replace("_", "-"))


def _asked_for(command: str) -> str:
    """Return the state that `ss state syn-recv` was asked for; nothing that is told where the command is not known."""
    asked = STATE_ASKED.search(command)
    return _named(asked[1].upper()) if asked else ""  # which is told of nowhere


def _ss(state: str | None) -> Callable[[int, str], Socket | None]:
    """Return the reader of rows of `ss`. Asked for one state only, it does not repeat it in each row."""

    def read(number: int, line: str) -> Socket | None:
        found = SS_ROW.match(line) if state is None else SS_ROW_WITHOUT_STATE.match(line)
        if found is None:
            return None
        named, received, sent, local, remote, rest = found.groups() if state is None else (state, *found.groups())
        timer = TIMER.search(rest)
        queues = (received, sent, timer[2] if timer and timer[1] == "on" else None)
        return _socket((number, line), named, (local, remote), queues)

    return read


def _netstat(number: int, line: str) -> Socket | None:
    fields = line.split()
    if len(fields) < 6 or not fields[0].startswith("tcp"):  # noqa: PLR2004 - the columns of its head
        return None
    _, received, sent, local, remote, state = fields[:6]
    return _socket((number, line), state, (local, remote), (received, sent, None))


def _proc(number: int, line: str) -> Socket | None:
    """Read a row of the kernel's own list, whose numbers are hexadecimal. A damaged row is none."""
    fields = line.split()
    try:
        state = PROC_STATES[fields[3]]
        sent, received = (str(int(size, 16)) for size in fields[4].split(":"))
        ends = _hexadecimal(fields[1]), _hexadecimal(fields[2])
        return Socket(number, line, state, *ends, (received, sent), str(int(fields[6], 16)))
    except (LookupError, ValueError):
        return None


def _hexadecimal(text: str) -> tuple[str, str]:
    """Read `0B04140A:2384`: the kernel writes each four bytes as the number that a little-endian machine sees."""
    host, _, port = text.partition(":")
    raw = bytes.fromhex(host)
    raw = b"".join(raw[start : start + 4][::-1] for start in range(0, len(raw), 4))
    return address(str(ip_address(raw))) or "", str(int(port, 16))


def _socket(
    place: tuple[int, str],
    state: str,
    ends: Sequence[str],
    told: tuple[str, str, str | None],
) -> Socket | None:
    """Return a socket; `told` are its queues and retransmits. None where its ends are no addresses."""
    local, remote = end(ends[0]), end(ends[1])
    if local is None or remote is None:
        return None
    return Socket(*place, _named(state.upper()), local, remote, told[:2], told[2])


SOURCE = Source(
    "sockets",
    "TCP sockets",
    "state",
    reading=Reading(tells=tells, facts=facts, reports=frozenset({v.SOCKET_SEEN})),
)
