"""`kafka-consumer-groups --describe`, also with `--state` and `--members`: lag by partition, and groups."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman import vocabulary as v
from leadsman.telemetry.reading import About, Facts, Reading, decoded_lines, fact, told_by
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

HEADING = re.compile(r"GROUP\s+(?:TOPIC|COORDINATOR|CONSUMER-ID)\s")
COLUMN = re.compile(r"\S+(?: \(ID\))?\s*")
STATE = re.compile(
    r"(?:Warning: )?Consumer group '(?P<group>.+)' (?P<says>has no active members|is rebalancing|is dead)\."
)
STATES = {"has no active members": "Empty", "is rebalancing": "PreparingRebalance", "is dead": "Dead"}
GATHERED = 10_000

NEEDED = (
    {"GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID"},
    {"GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"},
)
"""Columns of a group's offsets, and of its state."""

Cells = dict[str, str]
Told = list[tuple[int, str, Cells]]


def _facts(blocks: Iterable[bytes], about: About) -> Iterator[Facts]:  # noqa: ARG001 - a reading's signature
    columns: Sequence[tuple[str, int, int | None]] = ()
    states: dict[str, str] = {}
    told: Told = []
    for number, line in decoded_lines(blocks):
        if HEADING.match(line):
            columns = _columns(line)
        elif found := STATE.match(line):
            states[found["group"]] = STATES[found["says"]]
            yield fact(v.GROUP_STATE, number, line, None, group=found["group"], state=states[found["group"]])
        elif columns and line.strip() and (cells := _cells(line, columns)):
            told.append((number, line, cells))
            if len(told) == GATHERED:
                yield from _told(told, states)
                told = []
    if told:
        yield from _told(told, states)


def _columns(heading: str) -> list[tuple[str, int, int | None]]:
    """Return each column's name, and from where to where it reaches. Cells are padded, and can hold spaces.

    None of a heading that is cut, or of another command.
    """
    found = [(match[0].strip(), match.start()) for match in COLUMN.finditer(heading)]
    if not any({name for name, _ in found} >= needed for needed in NEEDED):
        return []
    ends: list[int | None] = [start for _, start in found[1:]]
    return [(name, start, end) for (name, start), end in zip(found, [*ends, None], strict=True)]


def _cells(line: str, columns: Sequence[tuple[str, int, int | None]]) -> Cells:
    """Take a line apart where its heading says so; by its spaces where a cell is too long for its column."""
    if all(line[start - 1 : start] in {" ", ""} for _, start, _ in columns[1:]):
        return {name: line[start:end].strip() for name, start, end in columns}
    words = line.split()
    return dict(zip((name for name, *_ in columns), words, strict=True)) if len(words) == len(columns) else {}


def _told(told: Told, states: dict[str, str]) -> Iterator[Facts]:
    lag = [each for each in told if "LAG" in each[2]]
    if lag:
        lines, texts, cells = zip(*lag, strict=True)
        yield Facts(
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
    for line, text, cells_ in told:
        if "STATE" in cells_:
            yield _state(line, text, cells_)


def _state(line: int, text: str, cells: Cells) -> Facts:
    address, _, node = cells["COORDINATOR (ID)"].partition(" ")
    return fact(
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
    reading=Reading(
        tells=told_by(f"{HEADING.pattern}|{STATE.pattern}"),
        facts=_facts,
        reports=frozenset({v.GROUP_LAG, v.GROUP_STATE}),
    ),
)
