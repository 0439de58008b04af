"""The life of findings: each change once, the same id through restarts, later evidence and expiry."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leadsman.model import Life, Verdict
from leadsman.watch.finding_changes import FindingHistory, LifeTimes, reported

from .findings import MODE, at, diagnosed, harmed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leadsman.model import Diagnosis
    from leadsman.watch.finding_changes import FindingChange

OPENED, UPDATED, WORSE, RESOLVED, REOPENED = (
    Life.OPENED,
    Life.UPDATED,
    Life.WORSE,
    Life.RESOLVED,
    Life.REOPENED,
)


def lives(changes: Iterable[FindingChange]) -> list[Life]:
    return [each.life for each in changes]


def seen(
    history: FindingHistory, *diagnoses: Diagnosis, now: float, horizon: float | None = None
) -> list[FindingChange]:
    horizons = {each.path: at(horizon) for each in diagnoses} if horizon is not None else {}
    return history.update(diagnoses, horizons, at(now))


def test_a_finding_is_opened_once_and_resolved_after_its_idle_time():
    history = FindingHistory()

    assert lives(seen(history, diagnosed(harmed(0), until=1), now=1)) == [OPENED]
    assert seen(history, diagnosed(harmed(0), until=14), now=14) == []
    assert lives(seen(history, diagnosed(harmed(0), until=16), now=16)) == [RESOLVED]
    assert seen(history, diagnosed(harmed(0), until=60), now=60) == []


def test_the_idle_time_is_the_mode_s_own():
    history = FindingHistory(LifeTimes(resolved_after={MODE: timedelta(days=1)}))
    seen(history, diagnosed(harmed(0), until=1), now=1)

    assert seen(history, diagnosed(harmed(0), until=60 * 23), now=60) == []
    assert lives(seen(history, diagnosed(harmed(0), until=60 * 25), now=61)) == [RESOLVED]


def test_a_job_that_fails_each_hour_is_resolved_after_two_hours_without_failure():
    history = FindingHistory()
    changes = []
    for minute in range(0, 60 * 12, 5):
        hours = range(0, minute + 1, 60)
        changes += seen(history, diagnosed(harmed(*hours), until=minute), now=minute)
    after_the_first_two = [each for each in reported(changes) if each.at > at(65)]

    assert after_the_first_two == []
    assert lives(seen(history, diagnosed(harmed(*range(0, 60 * 12, 60)), until=60 * 14), now=840)) == [RESOLVED]


def test_a_resolved_finding_that_does_harm_again_is_reopened_under_its_id():
    history = FindingHistory()
    (opened,) = seen(history, diagnosed(harmed(0), until=1), now=1)
    seen(history, diagnosed(harmed(0), until=30), now=30)

    (again,) = seen(history, diagnosed(harmed(0, 40), until=41), now=41)

    assert (again.life, again.id) == (REOPENED, opened.id)


def test_harm_after_more_than_a_day_is_another_finding():
    history = FindingHistory()
    (opened,) = seen(history, diagnosed(harmed(0), until=1), now=1)
    seen(history, diagnosed(harmed(0), until=30), now=30)

    (again,) = seen(history, diagnosed(harmed(0, 3000), until=3001), now=3001)

    assert (again.life, again.since) == (OPENED, at(3000))
    assert again.id != opened.id
    assert seen(history, diagnosed(harmed(0, 3000), until=3002), now=3002) == []


def test_evidence_that_is_read_later_moves_the_onset_and_keeps_the_id():
    history = FindingHistory()
    (opened,) = seen(history, diagnosed(harmed(10), until=11), now=11)

    (updated,) = seen(history, diagnosed(harmed(2, 10), until=13), now=13)

    assert (updated.id, updated.life, updated.since) == (opened.id, UPDATED, at(2))


def test_a_cluster_whose_id_is_read_later_is_no_second_finding():
    history = FindingHistory()
    (opened,) = seen(history, diagnosed(harmed(0), until=1), now=1)

    changes = seen(history, diagnosed(harmed(0), until=3, cluster="kafka-1"), now=3)

    assert [(each.id, each.life, each.cluster) for each in changes] == [(opened.id, UPDATED, "kafka-1")]


def test_a_cluster_whose_id_has_expired_is_the_same_finding():
    history = FindingHistory()
    seen(history, diagnosed(harmed(0, 9, title="lost"), until=10, cluster="kafka-1"), now=10)

    changes = seen(history, diagnosed(harmed(9, title="lost"), until=11), now=11, horizon=5)

    assert changes == []
    assert [each.change.cluster for each in history.open_findings()] == ["kafka-1"]


def test_two_clusters_of_one_capture_are_two_findings():
    history = FindingHistory()

    changes = seen(
        history,
        diagnosed(harmed(0), until=1, cluster="one"),
        diagnosed(harmed(0), until=1, cluster="two"),
        now=1,
    )

    assert lives(changes) == [OPENED, OPENED]
    assert len({each.id for each in changes}) == 2


def test_a_finding_in_progress_has_a_row_a_minute_at_most():
    history = FindingHistory()
    changes = []
    for seconds in range(0, 600, 2):
        minutes = seconds / 60
        changes += seen(history, diagnosed(harmed(*range(int(minutes) + 1), minutes), until=minutes), now=minutes)

    assert lives(changes) == [OPENED, *[UPDATED] * 9]
    assert reported(changes) == changes[:1]


def test_a_finding_is_worse_with_each_doubling_of_the_affected():
    history = FindingHistory()
    changes = []
    for subjects in range(1, 1001):
        changes += seen(history, diagnosed(harmed(0, subjects=subjects), until=1), now=1)

    assert [each.subjects for each in reported(changes)] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
    assert set(lives(changes[1:])) == {WORSE}


def test_a_mode_that_is_no_longer_present_is_resolved_where_its_evidence_is_all_there():
    history = FindingHistory()
    seen(history, diagnosed(harmed(5), until=6), now=6)

    assert lives(seen(history, diagnosed(until=7), now=7, horizon=4)) == [RESOLVED]
    assert lives(seen(history, diagnosed(harmed(5), until=8), now=8, horizon=4)) == [REOPENED]


def test_a_mode_that_is_no_longer_present_because_evidence_has_expired_stays_open_for_its_idle_time():
    history = FindingHistory()
    seen(history, diagnosed(harmed(5), until=6), now=6)

    assert seen(history, diagnosed(until=7), now=7, horizon=6) == []
    assert lives(seen(history, diagnosed(until=21), now=21, horizon=6)) == [RESOLVED]


def test_harm_that_goes_on_after_the_cause_s_line_has_expired_keeps_the_finding_open():
    history = FindingHistory()
    seen(history, diagnosed(harmed(5), until=6), now=6)
    changes = []
    for minute in range(10, 200, 10):
        without_cause = harmed(minute, verdict=Verdict.UNKNOWN, title="May be lost")
        changes += seen(history, diagnosed(without_cause, until=minute), now=minute, horizon=minute - 4)

    assert set(lives(changes)) == {UPDATED}
    assert {each.title for each in changes} == {"1 records lost"}


def test_what_was_over_before_the_watch_began_is_history_and_no_news():
    history = FindingHistory(LifeTimes(began=at(1000)))

    changes = seen(history, diagnosed(harmed(0), until=900), now=1000)

    assert lives(changes) == [OPENED, RESOLVED]
    assert reported(changes) == []


def test_harm_that_goes_on_after_the_watch_began_is_news_although_its_begin_was_not():
    history = FindingHistory(LifeTimes(began=at(1000)))

    old = seen(history, diagnosed(harmed(0), until=5), now=1000)
    again = seen(history, diagnosed(harmed(0, 1001), until=1001), now=1001)
    end = seen(history, diagnosed(harmed(0, 1001), until=4000), now=4000)

    assert (lives(old), reported(old)) == ([OPENED], [])
    assert lives(reported([*again, *end])) == [REOPENED, RESOLVED]
    assert {each.id for each in (*old, *again)} == {old[0].id}


def test_what_began_and_ended_while_the_watch_was_away_is_news():
    history = FindingHistory(LifeTimes(began=at(0)))

    changes = seen(history, diagnosed(harmed(10), until=100), now=100)

    assert lives(reported(changes)) == [OPENED, RESOLVED]


def test_a_capture_without_a_diagnosis_changes_nothing():
    history = FindingHistory()
    seen(history, diagnosed(harmed(0), until=1), now=1)

    assert seen(history, diagnosed(until=100, path="other"), now=100) == []


@pytest.mark.parametrize("seed", range(50))
def test_lives_are_the_same_whether_or_not_events_expire(seed: int):
    """The property: of two watches of one telemetry, one keeps all events and one drops them. Both say the same."""
    chance = random.Random(seed)
    harm = sorted(chance.sample(range(1, 60 * 96), chance.randrange(1, 40)))
    cause = chance.random() < 0.5  # the cause is one line at the begin, which expires; else each harm shows it
    retention = chance.choice((36, 48, 72)) * 60
    begin: dict[str, Any] = {"since": at(0)} if cause else {}
    all_kept, expiring = FindingHistory(), FindingHistory()
    looks = sorted({*chance.sample(range(60 * 120), 200), *(each + chance.randrange(1, 5) for each in harm)})
    kept_changes, expired_changes = [], []
    for now in looks:
        past = [each for each in harm if each <= now]
        horizon = max(0, now - retention)
        recent = [each for each in past if each >= horizon]
        verdict = Verdict.PRESENT if not cause or horizon == 0 else Verdict.UNKNOWN
        whole = [replace(harmed(*past, title="lost"), **begin)] if past else []
        left = begin if horizon == 0 else {}
        window = [replace(harmed(*recent, title="lost", verdict=verdict), **left)] if recent else []
        kept_changes += seen(all_kept, diagnosed(*whole, until=now), now=now)
        expired_changes += seen(expiring, diagnosed(*window, until=now), now=now, horizon=horizon or None)
        if cause and horizon and not expiring.open_findings():
            break  # a failure that begins when its cause has expired is UNKNOWN: there is nothing to open

    last = expired_changes[-1].at if expired_changes else at(0)
    assert [(each.id, each.life, each.at) for each in kept_changes if each.at <= last] == [
        (each.id, each.life, each.at) for each in expired_changes
    ]
