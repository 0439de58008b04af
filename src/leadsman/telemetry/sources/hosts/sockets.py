"""TCP sockets of a host: `ss -tan`, `ss -tanoi`, `ss -lnt`, `netstat -tan`, /proc/net/tcp and tcp6.

A broker has tens of thousands of established connections. They are counted per pair of endpoints, and beyond MAX_PAIRS
only in total. Each half-open connection becomes an event of its own, because a stale neighbour shows in them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING

from leadsman import vocabulary as v
from leadsman.telemetry.addresses import address, host_and_port
from leadsman.telemetry.outputs.parser import EventColumns, OutputParser, first_lines
from leadsman.telemetry.outputs.usual_lines import UsualLayout, lines_by_block
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from leadsman.telemetry.outputs.parser import OutputContext
    from leadsman.telemetry.outputs.usual_lines import Lines

MAX_PAIRS = 300
"""Pairs of endpoints with established connections that become events: more than a matrix has room for."""

SS_HEAD = re.compile(rb"\s*(?:Netid\s+)?(?:State\s+)?Recv-Q\s+Send-Q\s+Local Address:Port\s+Peer Address:Port")
NETSTAT_HEAD = re.compile(rb"Proto\s+Recv-Q\s+Send-Q\s+Local Address\s+Foreign Address\s+State")
PROC_HEAD = re.compile(rb"\s*sl\s+local_address\s+rem(?:ote)?_address\s+st\s")
SS_BARE = re.compile(
    rb"(?:ESTAB|SYN-SENT|SYN-RECV|LISTEN|TIME-WAIT|CLOSE-WAIT|FIN-WAIT-[12]|LAST-ACK|CLOSING)\s+\d+\s+\d+\s+\S+:\S+\s+\S+:\S+"
)
SS_ROW = re.compile(r"(?:tcp\S*\s+)?([A-Z][A-Z0-9-]+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+)(.*)")
SS_ROW_WITHOUT_STATE = re.compile(r"(?:tcp\s+)?(\d+)\s+(\d+)\s+(\S+)\s+(\S+)(.*)")
STATE_FILTER = re.compile(r"\bstate (syn-sent|syn-recv|established|listening)")
# The second line is what `ss -i` prints below a socket.
ESTABLISHED = UsualLayout(
    r"ESTAB +(\d+) +(\d+) +([0-9.]+|\[[0-9a-f:.]+\]):(\d+) +([0-9.]+|\[[0-9a-f:.]+\]):(\d+)"
    r" *(?:users:\(\(\"[\w.-]+\",pid=\d+,fd=\d+\)\))? *",
    nothing=r"\t (?:ts )?(?:sack )?(?:cubic|bbr|reno) (?:wscale:\S+ )?rto:\S+ rtt:\S+ .*",
)
TIMER = re.compile(r"timer:\((\w+),[^,)]*,(\d+)\)")
PROC_STATES = {
    "01": "ESTAB",
    "02": "SYN-SENT",
    "03": "SYN-RECV",
    "0A": "LISTEN",
    "0C": "SYN-RECV",
}  # fmt: skip - a table
NAMES = {"ESTABLISHED": "ESTAB", "LISTENING": "LISTEN", "SYN_RCVD": "SYN-RECV", "SYN-RCVD": "SYN-RECV"}
SHOWN_STATES = frozenset({"ESTAB", "SYN-SENT", "SYN-RECV", "LISTEN"})
"""States that show whether a client can connect. Closing states do not."""

LABELS = ("state", "local", "local_port", "remote", "remote_port", "recv_q", "send_q", "retransmits")


Connection = tuple[int, str, str, str, str, str, str, str]
"""An established connection: line, text, local address and port, remote address and port, and both queues."""


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
    def gets_own_event(self) -> bool:
        """Whether the socket is an event of its own: it is not established, or it retransmits."""
        return self.state != "ESTAB" or (self.retransmits or "0") != "0"


@dataclass(slots=True)
class ConnectionCount:
    """Established connections between the same two endpoints: the first one's line, and how many."""

    socket: Socket
    count: int = 1


@dataclass(slots=True)
class SocketTable:
    """The sockets of one output that become events."""

    single: list[Socket] = field(default_factory=list)
    pairs: dict[tuple[str, str, str, str], ConnectionCount] = field(default_factory=dict)
    others: ConnectionCount | None = None
    listening_ports: set[str] = field(default_factory=set)

    def add(self, socket: Socket) -> None:
        """Add one socket."""
        if socket.state == "LISTEN":
            self.listening_ports.add(socket.local[1])
        if socket.gets_own_event:
            self.single.append(socket)
        else:
            ends = (*socket.local, *socket.remote)
            self.add_established([(socket.line, socket.text, *ends, *socket.queues)], socket.retransmits)

    def add_all(self, sockets: Iterable[Socket | None]) -> None:
        """Add those sockets whose states show whether a client can connect."""
        for socket in sockets:
            if socket is not None and socket.state in SHOWN_STATES:
                self.add(socket)

    def add_established(self, connections: Iterable[Connection], retransmits: str | None = None) -> None:
        """Add established connections."""
        for connection in connections:
            pair = self._pair(connection)
            counted = self.pairs.get(pair)
            if counted is not None:
                counted.count += 1
            elif len(self.pairs) < MAX_PAIRS:
                self.pairs[pair] = ConnectionCount(_established(connection, retransmits))
            elif self.others is None:
                self.others = ConnectionCount(_established(connection, retransmits))
            else:
                self.others.count += 1

    def _pair(self, connection: Connection) -> tuple[str, str, str, str]:
        """Return both endpoints without the port of the client.

        This host is the server where it listens on that port, or where its port is the lower one.
        """
        _, _, local, local_port, remote, remote_port, *_ = connection
        serves = local_port in self.listening_ports or (
            local_port.isdigit() and remote_port.isdigit() and int(local_port) < int(remote_port)
        )
        return (local, local_port, remote, "") if serves else (local, "", remote, remote_port)

    def events(self) -> Iterator[EventColumns]:
        """Return the sockets as events."""
        counted = [*self.pairs.values(), *([self.others] if self.others else [])]
        sockets = [*self.single, *(each.socket for each in counted)]
        blank = [("", "", "", "")] if self.others else []
        ends = [*((*each.local, *each.remote) for each in self.single), *self.pairs, *blank]
        if not sockets:
            return
        labels = zip(
            *(
                (socket.state, *pair, *socket.queues, socket.retransmits)
                for socket, pair in zip(sockets, ends, strict=True)
            ),
            strict=True,
        )
        yield EventColumns(
            name=v.SOCKET_SEEN,
            lines=[socket.line for socket in sockets],
            texts=[socket.text for socket in sockets],
            values=[1.0] * len(self.single) + [float(each.count) for each in counted],
            labels={name: [text or None for text in column] for name, column in zip(LABELS, labels, strict=True)},
        )


def _established(connection: Connection, retransmits: str | None) -> Socket:
    line, text, local, local_port, remote, remote_port, *queues = connection
    received, sent = queues
    return Socket(line, text, "ESTAB", (local, local_port), (remote, remote_port), (received, sent), retransmits)


Reader = Callable[[int, str], Socket | None]
"""Reads one row of a list."""


def matches_head(head: bytes) -> bool:
    """Whether an output begins as one of these lists."""
    lines = first_lines(head)
    return any(pattern.match(line) for line in lines[:3] for pattern in (SS_HEAD, NETSTAT_HEAD, PROC_HEAD, SS_BARE))


def parse(blocks: Iterable[bytes], context: OutputContext) -> Iterator[EventColumns]:
    """Parse these lists; several may follow one another in one file."""
    table = SocketTable()
    reader = _SS  # rows without a heading: `ss -tan | grep SYN`
    for lines in lines_by_block(blocks):
        usual, rows, odd = _usual(lines)
        since = 0
        for index in (*odd, len(lines.texts)):
            until = bisect_left(usual, index, since)
            if reader is _SS:
                table.add_established(rows[since:until])
            else:
                table.add_all(reader(lines.first + each, lines.texts[each]) for each in usual[since:until])
            since = until
            if index < len(lines.texts):
                number, line = lines.first + index, lines.texts[index]
                heading = _after_heading(line, context)
                reader = heading or reader
                table.add_all([] if heading else [reader(number, line)])
    yield from table.events()


def _usual(lines: Lines) -> tuple[Sequence[int], Sequence[Connection], Sequence[int]]:
    """Return the places of established connections, the connections, and the places of lines to be read singly."""
    rows = ESTABLISHED.rows(lines)
    received, sent, local, local_port, remote, remote_port = rows.columns
    ends = [*map(address, local)], [*map(address, remote)]
    if None in ends[0] or None in ends[1]:
        return (), (), range(len(lines.texts))
    columns = (ends[0], local_port, ends[1], remote_port, received, sent)
    return rows.usual, list(zip(rows.numbers(lines), rows.texts(lines), *columns, strict=True)), rows.odd


def _after_heading(line: str, context: OutputContext) -> Reader | None:
    """Return how the rows below a heading are read; None for a line that is none."""
    raw = line.encode("utf-8", "replace")
    if SS_HEAD.match(raw):
        return _SS if b"State" in raw else _ss(_filtered_state(context.command))
    return _netstat if NETSTAT_HEAD.match(raw) else _proc if PROC_HEAD.match(raw) else None


def _ss_state(state: str) -> str:
    return NAMES.get(state, state.replace("_", "-"))


def _filtered_state(command: str) -> str:
    """Return the state to which `ss state syn-recv` restricts its list; empty where the command is not known."""
    match = STATE_FILTER.search(command)
    return _ss_state(match[1].upper()) if match else ""


def _ss(state: str | None) -> Reader:
    """Return the parser of rows of `ss`. With a state filter, `ss` does not print the state in each row."""

    def read(number: int, line: str) -> Socket | None:
        match = SS_ROW.match(line) if state is None else SS_ROW_WITHOUT_STATE.match(line)
        if match is None:
            return None
        row_state, received, sent, local, remote, details = (
            match.groups() if state is None else (state, *match.groups())
        )
        timer = TIMER.search(details)
        queues = (received, sent, timer[2] if timer and timer[1] == "on" else None)
        return _socket((number, line), row_state, (local, remote), queues)

    return read


_SS = _ss(None)


def _netstat(number: int, line: str) -> Socket | None:
    fields = line.split()
    if len(fields) < 6 or not fields[0].startswith("tcp"):  # noqa: PLR2004 - the columns of its heading
        return None
    _, received, sent, local, remote, state = fields[:6]
    return _socket((number, line), state, (local, remote), (received, sent, None))


def _proc(number: int, line: str) -> Socket | None:
    """Parse a row of /proc/net/tcp, whose numbers are hexadecimal; None where the row is damaged."""
    fields = line.split()
    try:
        state = PROC_STATES[fields[3]]
        sent, received = (str(int(size, 16)) for size in fields[4].split(":"))
        ends = _hexadecimal(fields[1]), _hexadecimal(fields[2])
        return Socket(number, line, state, *ends, (received, sent), str(int(fields[6], 16)))
    except (LookupError, ValueError):
        return None


def _hexadecimal(text: str) -> tuple[str, str]:
    """Parse `0B04140A:2384`: the kernel writes each four bytes as the number that a little-endian machine sees."""
    host, _, port = text.partition(":")
    raw = bytes.fromhex(host)
    raw = b"".join(raw[start : start + 4][::-1] for start in range(0, len(raw), 4))
    return address(str(ip_address(raw))) or "", str(int(port, 16))


def _socket(
    numbered_line: tuple[int, str],
    state: str,
    ends: Sequence[str],
    counters: tuple[str, str, str | None],
) -> Socket | None:
    """Return a socket; `counters` are its queues and retransmits. None where its endpoints are no addresses."""
    local, remote = host_and_port(ends[0]), host_and_port(ends[1])
    if local is None or remote is None:
        return None
    return Socket(*numbered_line, _ss_state(state.upper()), local, remote, counters[:2], counters[2])


SOURCE = Source(
    "sockets",
    "TCP sockets",
    "state",
    parser=OutputParser(matches=matches_head, parse=parse, event_names=frozenset({v.SOCKET_SEEN})),
)
