"""The legend of a chart names what the chart shows, in the words of the mode's card, and nothing else."""

from datetime import UTC, datetime, timedelta
from itertools import combinations

import pytest

from leadsman.catalogue import every_mode
from leadsman.model import Cell, ChartWords, Finding, Matrix, MatrixAxes, Panel, Point, Verdict
from leadsman.report.charts.drawings import LINE_STYLES
from leadsman.report.charts.legend import (
    STROKES,
    gaps_legend,
    instants_text,
    matrix_legend,
    panel_legend,
    timeline_legend,
)
from leadsman.report.charts.matrix import matrix_grid
from leadsman.report.charts.panels import select_panels
from leadsman.report.charts.selection import idle_limits, select_gaps, select_timeline

NOON = datetime(2020, 12, 20, 12, tzinfo=UTC)
WORDS = ChartWords(
    spans={"stalled": "could not commit"},
    instants={"died": "crashed", "recovered": "recovered without help"},
    limits={"broker_limit": "the broker's connections.max.idle.ms"},
)
ENTRY_OF = {"active": "active", "stalled": "could not commit", "died": "crashed", "recovered": "recovered without help"}


def point(outcome):
    since = NOON - timedelta(seconds=30) if outcome in {"active", "stalled"} else None
    return Point(subject="a", outcome=outcome, at=NOON, since=since, value=30.0)


def timeline_of(points):
    timeline = select_timeline(points, 5, WORDS)
    assert timeline is not None
    return timeline


def gaps_of(points, figures):
    gaps = select_gaps(points, figures, 10, WORDS)
    assert gaps is not None
    return gaps


def texts(entries):
    return {entry.text for entry in entries}


@pytest.mark.parametrize("outcomes", [some for n in range(1, 5) for some in combinations(ENTRY_OF, n)])
def test_a_timeline_has_an_entry_for_each_outcome_that_it_shows(outcomes):
    timeline = timeline_of([point(outcome) for outcome in outcomes])

    shown = texts(timeline_legend(timeline, WORDS)) - {"active"}

    assert shown == {ENTRY_OF[outcome] for outcome in outcomes} - {"active"}


def test_a_stall_that_ended_well_is_no_failure():
    timeline = timeline_of([point("stalled"), point("recovered")])

    assert timeline.lanes[0].harm_times == ()
    assert instants_text(timeline, WORDS) == "recovered without help (1)"


def test_instants_alone_show_no_activity():
    timeline = timeline_of([point("died"), point("recovered")])

    assert "active" not in texts(timeline_legend(timeline, WORDS))


@pytest.mark.parametrize(
    ("outcomes", "figures", "entries"),
    [
        (["failed", "unharmed"], {}, {"idle gap before a failure", "idle gap without a failure"}),
        (["unharmed"], {"limit_low": 9.0}, {"idle gap without a failure"}),
        (
            ["failed"],
            {"limit_low": 9.0, "limit_high": 30.0, "broker_limit": 20.0},
            {"idle gap before a failure", "the idle limit lies in this range", "configured or known idle limit"},
        ),
    ],
)
def test_a_chart_of_gaps_has_an_entry_for_what_it_shows(outcomes, figures, entries):
    points = [Point(subject="a", outcome=each, at=NOON, since=NOON - timedelta(seconds=30)) for each in outcomes]

    gaps = gaps_of(points, figures)

    assert texts(gaps_legend(gaps)) == entries


def test_only_figures_that_the_card_names_are_drawn_as_limits():
    named = idle_limits({"broker_limit": 600.0, "proven_limit": 611.0}, WORDS)

    assert named == (("the broker's connections.max.idle.ms", 600.0),)


def test_a_gap_after_which_nothing_was_sent_is_no_gap_without_a_failure():
    since = NOON - timedelta(seconds=30)
    points = [Point(subject="a", outcome=each, at=NOON, since=since) for each in ("failed", "unharmed", "unused")]

    gaps = gaps_of(points, {})

    assert sorted(gap.outcome for gap in gaps.gaps) == ["failed", "unharmed"]


@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_lines_of_a_narrow_panel_are_named_where_it_has_several(count):
    points = [
        Point(subject=f"broker-{n}", outcome="heap", at=NOON + timedelta(seconds=second), value=1.0 + n)
        for n in range(count)
        for second in (0, 60)
    ]
    finding = Finding(
        mode="m",
        verdict=Verdict.PRESENT,
        title="",
        summary="",
        points=tuple(points),
        panels=(Panel(id="heap", title=""),),
    )

    (data,) = select_panels(finding, 24)

    assert texts(panel_legend(data)) == ({f"broker-{n}" for n in range(count)} if count > 1 else set())


def test_each_style_of_line_has_its_own_sign():
    assert len(set(STROKES)) == len(STROKES) == len(LINE_STYLES)


@pytest.mark.parametrize(
    ("harm", "entries"),
    [((True,), {"failure"}), ((False,), {"no failure"}), ((True, False), {"failure", "no failure", "no data"})],
)
def test_a_matrix_has_an_entry_for_what_it_shows(harm, entries):
    cells = tuple(Cell(row=f"c{n}", column=f"s{n}", outcome="x", is_harm=each) for n, each in enumerate(harm))
    matrix = Matrix(axes=MatrixAxes("Who", "client", "server"), cells=cells, rows=len(harm), columns=len(harm))

    assert texts(matrix_legend(matrix_grid(matrix, 5, 5))) == entries


@pytest.mark.parametrize("mode", [mode for mode in every_mode() if mode.card.chart_words.limits], ids=lambda m: m.name)
def test_a_label_of_a_limit_names_whose_limit_it_is(mode):
    labels = mode.card.chart_words.limits.values()

    assert all(len(label.split()) > 1 for label in labels)
