"""One failure is one entry: which groups of errors tell of the same failures, and which a condition tells already."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.severity import PLACE, kind_of, severity_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from pyspark.sql import Row

    from leadsman.condition import Condition

AT_ONCE = timedelta(milliseconds=20)
"""A client writes the lines of one failure, stack traces among them, within a few milliseconds."""

AROUND = timedelta(seconds=2)
"""Clients end an attempt a little after the condition's last sign, and log to the second at worst."""

MOST_LINES = 4
"""Lines of one kind that are written of one failure at most: a handshake in Java has two with a trace each."""

LOSSES = (names.RECORD_FAILED, names.RECORD_EXPIRED, names.INVOCATION_TIMED_OUT)
"""What became of a record is another fact than why; only where one line says both it is one entry."""

TELLING = (
    names.CERTIFICATE_REJECTED,
    names.TLS_FAILED,
    names.NAME_UNRESOLVED,
    names.PRODUCER_FENCED,
    names.AUTHORIZATION_FAILED,
    names.AUTHENTICATION_FAILED,
    names.CONNECTION_SETUP_TIMED_OUT,
    names.CONNECTION_REFUSED,
    names.CONNECTION_RESET,
    names.CONNECTION_LOST,
    names.CONNECTION_FAILED,
    names.REQUEST_TIMED_OUT,
    names.PRODUCE_RETRIED,
    names.LOG_DIR_FAILED,
    names.BOOTSTRAP_FAILED,
)
"""Names that say why something failed, the most telling first."""

TOLD_BY: Mapping[str, tuple[str, ...]] = {
    "authentication_failed": (names.AUTHENTICATION_FAILED,),
    "authorization_failed": (names.AUTHORIZATION_FAILED,),
    "broker_fenced": (names.BROKER_FENCED, names.SESSION_EXPIRED),
    "broker_unreachable": (names.CONNECTION_REFUSED, names.CONNECTION_SETUP_TIMED_OUT, names.CONNECTION_FAILED),
    "certificate": (names.CERTIFICATE_REJECTED, names.TLS_FAILED, names.AUTHENTICATION_FAILED, names.BOOTSTRAP_FAILED),
    "client_never_connected": (
        names.AUTHENTICATION_FAILED,
        names.BOOTSTRAP_FAILED,
        names.CONNECTION_FAILED,
        names.CONNECTION_REFUSED,
        names.CONNECTION_SETUP_TIMED_OUT,
        names.NAME_UNRESOLVED,
    ),
    "client_throttled": (names.CLIENT_THROTTLED,),
    "disk_full": (names.DISK_FULL, names.LOG_DIR_FAILED),
    "host_frozen": (names.CLOCK_JUMPED,),
    "log_dir_failed": (names.LOG_DIR_FAILED,),
    "offsets_reset": (names.OFFSET_OUT_OF_RANGE,),
    "oom_killed": (names.PROCESS_KILLED,),
    "out_of_memory": (names.MEMORY_EXHAUSTED, names.RUNTIME_OUT_OF_MEMORY),
    "process_killed": (names.PROCESS_KILLED,),
    "producer_fenced": (names.PRODUCER_FENCED,),
    "unclean_election": (names.UNCLEAN_ELECTION,),
}
"""The events that each kind of condition is made of, where all that is known of them is in the condition."""


def of_a_condition(name: str, first: datetime | None, last: datetime | None, conditions: Iterable[Condition]) -> bool:
    """Say whether a condition tells of all errors of a name from the first to the last."""
    return any(name in TOLD_BY.get(each.kind, ()) and _within(first, last, each) for each in conditions)


def _within(first: datetime | None, last: datetime | None, condition: Condition) -> bool:
    if condition.since is None or first is None or last is None:
        return condition.since is None and first is None
    late = condition.until is not None and last > condition.until + AROUND
    return first >= condition.since - AROUND and not late


def one_a_failure(rows: Sequence[Row]) -> list[Row]:
    """Leave of the groups that tell of the same failures the one that says most, with the number of failures."""
    kept: list[Row] = []
    for row in sorted(rows, key=_place):
        if not any(_is_same(each, row) for each in kept):
            kept.append(row)
    return kept


def _place(row: Row) -> tuple[bool, int, int, float, str, int]:
    name, example = row["name"], row["example"]
    telling = TELLING.index(name) if name in TELLING else len(TELLING)
    return name == names.ERROR, _harm(row), telling, row["count"], example["file"], example["line"]


def _is_same(kept: Row, row: Row) -> bool:
    """Say whether the errors of a group are told by the group that is kept, which tells of no less harm."""
    if not is_same_moment(kept, row) or _harm(kept) > _harm(row):
        return False
    if kept["example"]["line"] == row["example"]["line"] or _kind(kept) == _kind(row):
        return True
    both = {kept["name"], row["name"]}
    return both <= set(TELLING) or (names.ERROR in both and both.isdisjoint(LOSSES))


def _harm(row: Row) -> int:
    return PLACE[severity_of(row["name"], row["example"]["labels"])]


def is_same_moment(one: Row, other: Row) -> bool:
    """Say whether two groups begin and end with the same failure of one subject, and count the same failures."""
    if None in {one["first"], one["last"], other["first"], other["last"]}:
        return False
    fewer, more = sorted((one["count"], other["count"]))
    return bool(
        one["example"]["file"] == other["example"]["file"]
        and abs(one["first"] - other["first"]) <= AT_ONCE
        and abs(one["last"] - other["last"]) <= AT_ONCE
        and more % fewer == 0
        and more <= MOST_LINES * fewer
    )


def _kind(row: Row) -> str:
    return kind_of(row["name"], row["example"]["labels"], row["example"]["text"] or "")
