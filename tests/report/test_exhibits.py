"""The data that charts show and omit, before anything is drawn."""

from datetime import UTC, datetime, timedelta

import pytest

from leadsman.model import Point
from leadsman.report.charts.selection import (
    GapOutcome,
    idle_limits,
    is_harmful,
    select_gaps,
    select_timeline,
    table_rows,
)

NOON = datetime(2020, 12, 20, 12, tzinfo=UTC)


def gap(subject, ended_minute, seconds, outcome="unharmed"):
    end = NOON + timedelta(minutes=ended_minute)
    return Point(subject=subject, outcome=outcome, at=end, since=end - timedelta(seconds=seconds), value=seconds)


def lanes(points, at_most):
    chosen = select_timeline(points, at_most)
    assert chosen is not None
    return chosen


def lengths(points, figures, at_most):
    chosen = select_gaps(points, figures, at_most)
    assert chosen is not None
    return chosen


def at(minute):
    return NOON + timedelta(minutes=minute)


def minutes(span):
    return tuple((time - NOON).total_seconds() / 60 for time in span)


def test_a_subject_is_active_between_its_idle_gaps():
    points = [gap("a", 10, 300), gap("a", 30, 600), gap("b", 0, 60), gap("b", 60, 60)]

    lane = lanes(points, 5).lanes[1]

    assert lane.subject == "a"
    assert [minutes(span) for span in lane.active] == [(5, 5), (10, 20), (30, 30)]


def test_gaps_that_overlap_are_counted_once():
    points = [gap("a", 10, 600), gap("a", 12, 600), gap("a", 30, 60)]

    lane = lanes(points, 5).lanes[0]

    assert [minutes(span) for span in lane.active] == [(0, 0), (12, 29), (30, 30)]


def test_gaps_narrower_than_a_line_are_not_cut_out():
    points = [gap("a", 0, 1), gap("a", 300, 1), gap("a", 600, 1)]

    lane = lanes(points, 5).lanes[0]

    assert len(lane.active) == 1


def test_subjects_with_failures_come_first_and_omitted_ones_are_counted():
    points = [
        gap("calm", 1, 5),
        gap("late", 50, 700, "failed"),
        gap("early", 40, 700, "failed"),
        gap("also calm", 2, 5),
    ]

    chosen = lanes(points, 3)

    assert [lane.subject for lane in chosen.lanes] == ["early", "late", "calm"]
    assert chosen.omitted == 1


def test_a_failure_without_a_gap_is_an_instant():
    point = Point(subject="a", outcome="failed", at=NOON)

    chosen = lanes([point], 3)

    assert chosen.lanes[0].harm_times == (NOON,)
    assert chosen.lanes[0].harmed_gaps == ()
    assert select_gaps([point], {}, 10) is None


def test_a_subject_is_active_only_where_it_was_seen():
    seen = [
        Point(subject="a", outcome="active", since=at(0), at=at(20)),
        Point(subject="a", outcome="active", since=at(40), at=at(60)),
    ]
    points = [*seen, gap("a", 50, 300)]

    lane = lanes(points, 5).lanes[0]

    assert [minutes(span) for span in lane.active] == [(0, 20), (40, 45), (50, 60)]


def test_with_known_times_of_failures_the_ends_of_gaps_are_not_marked():
    points = [gap("a", 10, 720, "failed"), Point(subject="a", outcome="error", at=at(11))]

    lane = lanes(points, 5).lanes[0]

    assert [minutes(span) for span in lane.harmed_gaps] == [(-2, 10)]
    assert lane.harm_times == (at(11),)


def test_a_stretch_of_activity_is_no_gap():
    points = [Point(subject="a", outcome="active", since=at(0), at=at(60)), gap("a", 30, 90)]

    assert [g.seconds for g in lengths(points, {}, 5).gaps] == [90]
    assert [point.outcome for point in table_rows(points, 5)] == ["unharmed"]


def test_without_points_there_is_nothing_to_draw():
    assert select_timeline([], 3) is None
    assert select_gaps([], {"limit_low": 598.0}, 10) is None


@pytest.mark.parametrize(("outcome", "harmful"), [("unharmed", False), ("failed", True), ("a new word", True)])
def test_an_outcome_that_is_not_known_to_be_harmless_counts_as_harmful(outcome, harmful):
    assert is_harmful(GapOutcome(1.0, outcome)) is harmful


def test_where_there_is_no_room_the_shortest_and_the_longest_of_each_kind_are_kept():
    calm = [gap("a", n, n + 1) for n in range(50)]
    failed = [gap("a", n, 700 - n, "failed") for n in range(50)]

    chosen = lengths(calm + failed, {"limit_low": 50.0}, 6)

    assert [g.seconds for g in chosen.gaps] == [651, 675, 700, 1, 25, 50]
    assert chosen.omitted == 94


def test_room_that_one_kind_does_not_need_goes_to_the_other():
    calm = [gap("a", n, n + 1) for n in range(50)]

    chosen = lengths([*calm, gap("a", 99, 700, "failed")], {}, 6)

    assert [g.seconds for g in chosen.gaps] == [700, 1, 13, 25, 37, 50]


def test_idle_limits_are_read_from_the_figures_and_equal_limits_share_an_entry():
    figures: dict[str, float | str] = {
        "broker_default_limit": 600.0,
        "broker_configured_limit": 600,
        "aws_nat_gateway_limit": 350.0,
        "odd_limit": "?",
        "errors": 7,
    }  # fmt: skip - one line of figures

    named = idle_limits(figures)

    assert named == (("AWS NAT gateway", 350.0), ("broker configured, broker default", 600.0))


@pytest.mark.parametrize("value", ["598", float("inf"), float("nan"), 0.0, -3.0])
def test_a_limit_that_no_axis_can_show_is_no_limit(value):
    chosen = lengths([gap("a", 1, 5)], {"limit_low": value, "limit_high": 611.0}, 3)

    assert (chosen.limit_low, chosen.limit_high) == (None, 611.0)


def test_the_table_lists_failures_in_time_and_then_the_longest_other_gaps():
    points = [gap("a", 1, 5), gap("b", 9, 700, "failed"), gap("c", 3, 650, "failed"), gap("d", 4, 90)]

    rows = table_rows(points, 3)

    assert [point.subject for point in rows] == ["c", "b", "d"]
