"""`kafka-consumer-groups --describe`, also with `--state` and `--members`: lag by partition, and groups."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING

from leadsman import vocabulary as v
from leadsman.telemetry.outputs.parser import (
    EventColumns,
    OutputContext,
    OutputParser,
    head_line_matches,
    single_event,
)
from leadsman.telemetry.outputs.usual_lines import lines_by_block
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from leadsman.telemetry.outputs.usual_lines import Lines

HEADING = re.compile(r"GROUP\s+(?:TOPIC|COORDINATOR|CONSUMER-ID)\s")
COLUMN = re.compile(r"\S+(?: \(ID\))?\s*")
STATE = re.compile(
    r"(?:Warning: )?Consumer group '(?P<group>.+)' (?P<sentence>has no active members|is rebalancing|is dead)\."
)
STATES = {"has no active members": "Empty", "is rebalancing": "PreparingRebalance", "is dead": "Dead"}
BATCH_ROWS = 10_000
"""Rows that are yielded together."""

REQUIRED_COLUMNS = (
    {"GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID"},
    {"GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"},
)
"""Columns of a group's offsets, and of its state."""

NO_ROW = ("GROUP", "Consumer group '", "Warning: Consumer group '")
"""What lines begin with that are no rows."""

Place = tuple[str, int, int | None]
"""Name, start and end of a column."""

Cells = dict[str, str]
OFFSETS_LABELS = {
    "group": "GROUP",
    "topic": "TOPIC",
    "partition": "PARTITION",
    "committed": "CURRENT-OFFSET",
    "end": "LOG-END-OFFSET",
    "member": "CONSUMER-ID",
    "host": "HOST",
    "client_id": "CLIENT-ID",
}
"""The column of each label."""
NEVER_MISSING = frozenset({"GROUP", "TOPIC", "PARTITION"})


@dataclass(slots=True)
class TableRows:
    """Rows of one kind of table, until they are many."""

    lines: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    cells: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, lines: Sequence[int], texts: Sequence[str], cells: Mapping[str, Sequence[str]]) -> None:
        """Add rows, whose cells are given by column."""
        self.lines += lines
        self.texts += texts
        for name, column in cells.items():
            self.cells[name] += column


@dataclass(slots=True)
class Tables:
    """The rows of one output: of groups' offsets, and of their states."""

    offsets: TableRows = field(default_factory=TableRows)
    states: TableRows = field(default_factory=TableRows)
    known: dict[str, str] = field(default_factory=dict)
    """States of groups, from the sentences above the tables."""

    def add(self, lines: Lines, part: range, columns: Sequence[Place]) -> Iterator[EventColumns]:
        """Add the rows of one table, and yield the events of what was gathered once it is much."""
        texts = lines.texts[part.start : part.stop]
        names = {name for name, *_ in columns}
        if not texts or not names:
            return
        numbers, texts, cells = _cells(range(lines.first + part.start, lines.first + part.stop), texts, columns)
        if "LAG" in names:
            self.offsets.add(numbers, texts, cells)
        if "STATE" in names:
            self.states.add(numbers, texts, cells)
        if len(self.offsets.lines) + len(self.states.lines) >= BATCH_ROWS:
            yield from self.events()

    def events(self) -> Iterator[EventColumns]:
        """Yield the events of what was gathered."""
        offsets, self.offsets = self.offsets, TableRows()
        states, self.states = self.states, TableRows()
        if offsets.lines:
            yield _lags(offsets, self.known)
        if states.lines:
            yield _states(states)


def _parse(blocks: Iterable[bytes], context: OutputContext) -> Iterator[EventColumns]:  # noqa: ARG001 - a parser's signature
    columns: Sequence[Place] = ()
    tables = Tables()
    for lines in lines_by_block(blocks):
        since = 0
        ends = (index for index, line in enumerate(lines.texts) if line.startswith(NO_ROW) or not line.strip())
        for index in chain(ends, (len(lines.texts),)):
            yield from tables.add(lines, range(since, index), columns)
            since = index + 1
            line = lines.texts[index] if index < len(lines.texts) else ""
            if HEADING.match(line):
                columns = _columns(line)
            elif match := STATE.match(line):
                group, state = match["group"], STATES[match["sentence"]]
                tables.known[group] = state
                yield single_event(v.GROUP_STATE, lines.first + index, line, None, group=group, state=state)
            elif line.strip():
                yield from tables.add(lines, range(index, index + 1), columns)
    yield from tables.events()


def _columns(heading: str) -> list[Place]:
    """Return the name, start and end of each column. Cells are padded, and can hold spaces.

    Empty for a heading that is cut, or of another command.
    """
    columns = [(match[0].strip(), match.start()) for match in COLUMN.finditer(heading)]
    if not any({name for name, _ in columns} >= needed for needed in REQUIRED_COLUMNS):
        return []
    ends: list[int | None] = [start for _, start in columns[1:]]
    return [(name, start, end) for (name, start), end in zip(columns, [*ends, None], strict=True)]


def _cells(
    numbers: Sequence[int], texts: list[str], columns: Sequence[Place]
) -> tuple[Sequence[int], list[str], Mapping[str, Sequence[str]]]:
    """Return the rows that have such cells, column by column.

    Lines are split at the columns of their heading; at their spaces where a cell is too long for its column.
    """
    boundaries = (slice(start - 1, start) for _, start, _ in columns[1:])
    if all({" ", ""}.issuperset(map(itemgetter(boundary), texts)) for boundary in boundaries):
        return numbers, texts, {name: [line[start:end].strip() for line in texts] for name, start, end in columns}
    every = zip(numbers, texts, strict=True)
    rows = [(number, line, cells) for number, line in every if (cells := _row(line, columns))]
    by_column = {name: [cells[name] for _, _, cells in rows] for name, *_ in columns}
    return [number for number, _, _ in rows], [line for _, line, _ in rows], by_column


def _row(line: str, columns: Sequence[Place]) -> Cells:
    if all(line[start - 1 : start] in {" ", ""} for _, start, _ in columns[1:]):
        return {name: line[start:end].strip() for name, start, end in columns}
    words = line.split()
    return dict(zip((name for name, *_ in columns), words, strict=True)) if len(words) == len(columns) else {}


def _lags(rows: TableRows, states: Mapping[str, str]) -> EventColumns:
    cells = rows.cells
    labels: dict[str, Sequence[str | None]] = {
        label: cells[name] if name in NEVER_MISSING else list(map(_known, cells[name]))
        for label, name in OFFSETS_LABELS.items()
    }
    labels["host"] = [_known(each.lstrip("/")) for each in cells["HOST"]]
    labels["state"] = list(map(states.get, cells["GROUP"]))
    return EventColumns(
        name=v.GROUP_LAG,
        lines=rows.lines,
        texts=rows.texts,
        values=list(map(_number, cells["LAG"])),
        labels=labels,
    )


def _states(rows: TableRows) -> EventColumns:
    cells = rows.cells
    coordinators = [each.partition(" ") for each in cells["COORDINATOR (ID)"]]
    return EventColumns(
        name=v.GROUP_STATE,
        lines=rows.lines,
        texts=rows.texts,
        values=list(map(_number, cells["#MEMBERS"])),
        labels={
            "group": cells["GROUP"],
            "state": cells["STATE"],
            "coordinator": [node.strip(" ()") or None for _, _, node in coordinators],
            "address": [address for address, _, _ in coordinators],
            "assignor": list(map(_known, cells["ASSIGNMENT-STRATEGY"])),
        },
    )


def _known(cell: str) -> str | None:
    return None if cell in {"", "-"} else cell


def _number(cell: str) -> float | None:
    return float(cell) if cell.lstrip("-").isdigit() else None


SOURCE = Source(
    "kafka_groups",
    "kafka-consumer-groups",
    "state",
    parser=OutputParser(
        matches=head_line_matches(f"{HEADING.pattern}|{STATE.pattern}"),
        parse=_parse,
        event_names=frozenset({v.GROUP_LAG, v.GROUP_STATE}),
    ),
)
