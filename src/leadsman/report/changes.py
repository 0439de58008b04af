"""Says what changed: one sentence a change, the same on the console, on the page and in a finding; and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from leadsman.model import How
from leadsman.report.findings_json import change_json
from leadsman.words import count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leadsman.model import Change, Changes

SCHEMA = "leadsman.changes/1"

NOUNS: Mapping[str, str] = {
    "configuration": "setting settings",
    "version": "version versions",
    "client": "client id|client ids",
    "topic": "topic topics",
    "partition": "partition partitions",
    "broker": "broker brokers",
    "host": "host hosts",
    "ids_taken": "producer ids taken an hour",
    "ids_held": "producer ids held",
    "leader": "leader of a partition|leaders of partitions",
    "replicas": "replicas of a partition|replicas of partitions",
}
"""What the kinds are called, one and several of them."""

THINGS_SAID = 4
TENFOLD = 10
"""Factors from here on are told without a decimal."""


def noun(kind: str, number: int = 2) -> str:
    """Return what one thing, or several things, of a kind are called."""
    said = count(number, NOUNS[kind]) if " " in NOUNS[kind] and not _measured(kind) else NOUNS[kind]
    return said.split(" ", 1)[1] if said[0].isdigit() else said


def _measured(kind: str) -> bool:
    return kind.startswith("ids_")


def sentence(change: Change) -> str:
    """Say what happened to what."""
    things = ", ".join(change.things[:THINGS_SAID])
    more = change.count - len(change.things[:THINGS_SAID])
    named = things + (f" and {count(more)} more" if more > 0 else "")
    said = _numbers(change, named) if isinstance(change.after, float) else _words(change, named)
    return f"{said} (it had changed before, too)" if change.restless else said


def _numbers(change: Change, named: str) -> str:
    assert isinstance(change.before, float)
    assert isinstance(change.after, float)
    times = f"{change.magnitude:,.{1 if change.magnitude < TENFOLD else 0}f}"
    factor = f", {times} times as many" if change.how is How.MORE and change.before >= 1 else ""
    return f"{noun(change.kind)}, {named}: {change.before:,.0f} before, {change.after:,.0f} after{factor}"


def _words(change: Change, named: str) -> str:
    what = change.key if change.kind == "configuration" else noun(change.kind, change.count)
    match change.how:
        case How.NEW:
            told = f" = {change.after}" if change.after is not None else ""
            return f"{what}{told}, new: {named}"
        case How.GONE:
            told = f" (it was {change.before})" if change.before is not None else ""
            return f"{what}{told}, gone: {named}"
    return f"{what}: {change.before} before, {change.after} after: {named}"


def silences(changes: Changes) -> list[str]:
    """Say which kinds could not be compared, and of which side nothing is told."""
    sides = {
        (True, False): "nothing after",
        (False, True): "nothing before",
        (False, False): "nothing at all",
    }
    said: dict[str, list[str]] = {}
    for kind, was, now in changes.unseen:
        said.setdefault(sides[was, now], []).append(noun(kind))
    uncollected = [f"{count(number)} {noun(kind, number)}" for kind, number in changes.uncollected]
    not_had = [f"not collected after: {', '.join(uncollected)}"] if uncollected else []
    return [f"{why} is told of {', '.join(kinds)}" for why, kinds in said.items()] + not_had


def dumps(changes: Changes, sides: Mapping[str, Any]) -> str:
    """Write the document "leadsman.changes/1", in ASCII. `sides` says what before and after are."""
    document = {
        "schema": SCHEMA,
        **sides,
        "compared": list(changes.compared),
        "unseen": [{"kind": kind, "before": was, "after": now} for kind, was, now in changes.unseen],
        "uncollected": [{"kind": kind, "count": number} for kind, number in changes.uncollected],
        "changes": [change_json(change) for change in changes.changes],
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"
