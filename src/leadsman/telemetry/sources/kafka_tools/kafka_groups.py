"""`kafka-consumer-groups --describe`, also with `--state` and `--members`: lag by partition, and groups."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman import vocabulary as v
from leadsman.telemetry.outputs.parser import (
    EventColumns,
    OutputContext,
    OutputParser,
    decoded_lines,
    head_line_matches,
    single_event,
)
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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

Cells = dict[str, str]
GroupRows = list[tuple[int, str, Cells]]
"""Line, text and cells of each row."""


def _parse(blocks: Iterable[bytes], context: OutputContext) -> Iterator[EventColumns]:  # noqa: ARG001 - a parser's signature
    columns: Sequence[tuple[str, int, int | None]] = ()
    states: dict[str, str] = {}
    rows: GroupRows = []
    for number, line in decoded_lines(blocks):
        if HEADING.match(line):
            columns = _columns(line)
        elif match := STATE.match(line):
            states[match["group"]] = STATES[match["sentence"]]
            yield single_event(v.GROUP_STATE, number, line, None, group=match["group"], state=states[match["group"]])
        elif columns and line.strip() and (cells := _cells(line, columns)):
            rows.append((number, line, cells))
            if len(rows) == BATCH_ROWS:
                yield from _events(rows, states)
                rows = []
    if rows:
        yield from _events(rows, states)


def _columns(heading: str) -> list[tuple[str, int, int | None]]:
    """Return the name, start and end of each column. Cells are padded, and can hold spaces.

    Empty for a heading that is cut, or of another command.
    """
    columns = [(match[0].strip(), match.start()) for match in COLUMN.finditer(heading)]
    if not any({name for name, _ in columns} >= needed for needed in REQUIRED_COLUMNS):
        return []
    ends: list[int | None] = [start for _, start in columns[1:]]
    return [(name, start, end) for (name, start), end in zip(columns, [*ends, None], strict=True)]


def _cells(line: str, columns: Sequence[tuple[str, int, int | None]]) -> Cells:
    """Split a line at the columns of its heading; at its spaces where a cell is too long for its column."""
    if all(line[start - 1 : start] in {" ", ""} for _, start, _ in columns[1:]):
        return {name: line[start:end].strip() for name, start, end in columns}
    words = line.split()
    return dict(zip((name for name, *_ in columns), words, strict=True)) if len(words) == len(columns) else {}


def _events(rows: GroupRows, states: dict[str, str]) -> Iterator[EventColumns]:
    lag = [row for row in rows if "LAG" in row[2]]
    if lag:
        lines, texts, cells = zip(*lag, strict=True)
        yield EventColumns(
            name=v.GROUP_LAG,
            lines=lines,
            texts=texts,
            values=[_number(each["LAG"]) for each in cells],
            labels={
                "group": [each["GROUP"] for each in cells],
                "topic": [each["TOPIC"] for each in cells],
                "partition": [each["PARTITION"] for each in cells],
                "committed": [_known(each["CURRENT-OFFSET"]) for each in cells],
                "end": [_known(each["LOG-END-OFFSET"]) for each in cells],
                "member": [_known(each["CONSUMER-ID"]) for each in cells],
                "host": [_known(each["HOST"].lstrip("/")) for each in cells],
                "client_id": [_known(each["CLIENT-ID"]) for each in cells],
                "state": [states.get(each["GROUP"]) for each in cells],
            },
        )
    for line, text, cells_ in rows:
        if "STATE" in cells_:
            yield _state(line, text, cells_)


def _state(line: int, text: str, cells: Cells) -> EventColumns:
    address, _, node = cells["COORDINATOR (ID)"].partition(" ")
    return single_event(
        v.GROUP_STATE,
        line,
        text,
        _number(cells["#MEMBERS"]),
        group=cells["GROUP"],
        state=cells["STATE"],
        coordinator=node.strip(" ()") or None,
        address=address,
        assignor=_known(cells["ASSIGNMENT-STRATEGY"]),
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
