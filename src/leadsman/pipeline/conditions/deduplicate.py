"""Lists one failure once: drops error groups of the same failures, and those that a condition already covers."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.severity import SEVERITY_RANK, error_title, severity_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from pyspark.sql import Row

    from leadsman.model.condition import Condition

SAME_FAILURE = timedelta(milliseconds=20)
"""A client writes the lines of one failure, stack traces included, within a few milliseconds."""

TOLERANCE = timedelta(seconds=2)
"""Clients end an attempt a little after the condition's last event, and some log times in whole seconds."""

MAX_LINES = 4
"""Lines of one kind for one failure at most: a failed handshake in Java writes two, each with a stack trace."""

LOSSES = (names.RECORD_FAILED, names.RECORD_EXPIRED, names.INVOCATION_TIMED_OUT)
"""The loss of a record is another fact than its cause; both are one entry only where one line names both."""

CAUSES_BY_SPECIFICITY = (
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
"""Events that name the cause of a failure, the most specific first."""

EVENTS_OF_CONDITION: Mapping[str, tuple[str, ...]] = {
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
"""The events that each kind of condition reports completely."""


def is_part_of_condition(
    name: str, first: datetime | None, last: datetime | None, conditions: Iterable[Condition]
) -> bool:
    """Say whether a condition covers all errors of a name, from the first to the last."""
    return any(name in EVENTS_OF_CONDITION.get(each.kind, ()) and _within(first, last, each) for each in conditions)


def _within(first: datetime | None, last: datetime | None, condition: Condition) -> bool:
    if condition.since is None or first is None or last is None:
        return condition.since is None and first is None
    is_later = condition.until is not None and last > condition.until + TOLERANCE
    return first >= condition.since - TOLERANCE and not is_later


def one_group_per_failure(rows: Sequence[Row]) -> list[Row]:
    """Return one group for each set of groups of the same failures: the most specific, with the number of failures."""
    kept: list[Row] = []
    for row in sorted(rows, key=_sort_key):
        if not any(_is_same_failure(each, row) for each in kept):
            kept.append(row)
    return kept


def _sort_key(row: Row) -> tuple[bool, int, int, float, str, int]:
    name, example = row["name"], row["example"]
    specificity = CAUSES_BY_SPECIFICITY.index(name) if name in CAUSES_BY_SPECIFICITY else len(CAUSES_BY_SPECIFICITY)
    return name == names.ERROR, _harm(row), specificity, row["count"], example["file"], example["line"]


def _is_same_failure(kept: Row, row: Row) -> bool:
    """Say whether a group is of the same failures as the group that is kept, and of no greater harm."""
    if not is_simultaneous(kept, row) or _harm(kept) > _harm(row):
        return False
    if kept["example"]["line"] == row["example"]["line"] or _title(kept) == _title(row):
        return True
    both = {kept["name"], row["name"]}
    return both <= set(CAUSES_BY_SPECIFICITY) or (names.ERROR in both and both.isdisjoint(LOSSES))


def _harm(row: Row) -> int:
    return SEVERITY_RANK[severity_of(row["name"], row["example"]["labels"])]


def is_simultaneous(one: Row, other: Row) -> bool:
    """Say whether two groups of one file begin and end at the same time and count the same number of failures."""
    if None in {one["first"], one["last"], other["first"], other["last"]}:
        return False
    fewer, more = sorted((one["count"], other["count"]))
    return bool(
        one["example"]["file"] == other["example"]["file"]
        and abs(one["first"] - other["first"]) <= SAME_FAILURE
        and abs(one["last"] - other["last"]) <= SAME_FAILURE
        and more % fewer == 0
        and more <= MAX_LINES * fewer
    )


def _title(row: Row) -> str:
    return error_title(row["name"], row["example"]["labels"], row["example"]["text"] or "")
