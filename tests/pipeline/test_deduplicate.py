"""One failure is one entry, and an error of greater harm is never dropped."""

from datetime import UTC, datetime, timedelta

from pyspark.sql import Row

from leadsman import vocabulary as v
from leadsman.model.condition import Condition
from leadsman.pipeline.conditions.deduplicate import is_part_of_condition, one_group_per_failure

BEGAN = datetime(2026, 11, 18, 6, 0, tzinfo=UTC)
ENDED = BEGAN + timedelta(hours=5)
REACHED = Condition(
    kind="broker_unreachable",
    title="x",
    severity=1,
    ongoing=False,
    count=1,
    subjects=("broker 2",),
    since=BEGAN,
    until=ENDED,
)


def group(name: str, count: int, *, line: int = 2, later_ms: int = 0, text: str = "", **labels: str) -> Row:
    later = timedelta(milliseconds=later_ms)
    example = Row(file="a.log", line=line, at=BEGAN + later, text=text, labels=labels)
    return Row(name=name, count=float(count), first=BEGAN + later, last=ENDED + later, example=example)


def left(*groups: Row) -> list[str]:
    return [row["name"] for row in one_group_per_failure(groups)]


def test_a_failed_handshake_is_listed_by_its_reason():
    handshake = group(v.TLS_FAILED, 1280), group(v.AUTHENTICATION_FAILED, 640, line=3, later_ms=3)
    reason = group(v.CERTIFICATE_REJECTED, 640, line=6, later_ms=6)

    assert left(*handshake, reason) == [v.CERTIFICATE_REJECTED]


def test_an_attempt_is_listed_once_and_its_lost_record_besides():
    attempt = group(v.CONNECTION_REFUSED, 9, later_ms=3, line=3), group(v.CONNECTION_SETUP_TIMED_OUT, 9)
    record = group(v.RECORD_EXPIRED, 9, line=5, later_ms=7)

    assert set(left(*attempt, record)) == {v.CONNECTION_SETUP_TIMED_OUT, v.RECORD_EXPIRED}


def test_a_line_is_listed_by_its_greatest_harm():
    assert left(group(v.CONNECTION_LOST, 20), group(v.RECORD_FAILED, 20)) == [v.RECORD_FAILED]


def test_errors_at_other_times_or_with_other_counts_are_failures_of_their_own():
    later = group(v.TLS_FAILED, 9, line=7, later_ms=400)
    fewer = group(v.NAME_UNRESOLVED, 5, line=8)

    assert len(left(group(v.AUTHENTICATION_FAILED, 9), later, fewer)) == 3


def test_a_condition_covers_its_events_while_it_lasts():
    during = is_part_of_condition(v.CONNECTION_REFUSED, BEGAN, ENDED, [REACHED])
    longer = is_part_of_condition(v.CONNECTION_REFUSED, BEGAN, ENDED + timedelta(minutes=5), [REACHED])
    another = is_part_of_condition(v.RECORD_EXPIRED, BEGAN, ENDED, [REACHED])

    assert (during, longer, another) == (True, False, False)
