"""Drawings: the same bytes each time, no colour of their own, a name for a screen reader."""

import re
import warnings
from dataclasses import replace
from datetime import timedelta
from xml.etree import ElementTree as ET

import pytest

from leadsman.model import Point
from leadsman.report.charts import drawings, selection
from leadsman.report.charts.svg import COLOURS

SVG = "{http://www.w3.org/2000/svg}"
WORDS = {"prefix": "f1", "title": "Title & <more>", "description": "Description"}


@pytest.fixture
def finding(present):
    return present.findings[0]


@pytest.fixture
def lanes(finding):
    return drawn_lanes(finding.points)


@pytest.fixture
def lengths(finding):
    return drawn_gaps(finding.points, finding.figures)


def drawn_lanes(points):
    chosen = selection.select_timeline(points, 24)
    assert chosen is not None
    return drawings.timeline_svg(chosen, **WORDS)


def drawn_gaps(points, figures):
    chosen = selection.select_gaps(points, figures, 800)
    assert chosen is not None
    return drawings.gaps_svg(chosen, **WORDS)


def texts(drawing):
    return ["".join(element.itertext()) for element in ET.fromstring(drawing).iter(f"{SVG}text")]


@pytest.mark.parametrize("which", ["lanes", "lengths"])
def test_a_drawing_takes_all_its_colours_from_the_page(which, request):
    drawing = request.getfixturevalue(which)

    assert set(re.findall(r"#[0-9a-f]{6}\b", drawing)) == set()
    assert set(re.findall(r"var\(--([a-z-]+)\)", drawing)) <= set(COLOURS)


@pytest.mark.parametrize("which", ["lanes", "lengths"])
def test_a_drawing_names_itself(which, request):
    root = ET.fromstring(request.getfixturevalue(which))

    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == "f1-title f1-desc"
    assert root.findtext(f"{SVG}title") == "Title & <more>"
    assert root.findtext(f"{SVG}desc") == "Description"


@pytest.mark.parametrize("which", ["lanes", "lengths"])
def test_a_drawing_brings_no_style_sheet_no_font_and_no_date(which, request):
    drawing = request.getfixturevalue(which)

    assert "<style" not in drawing
    assert "DejaVu" not in drawing
    assert "<metadata" not in drawing


@pytest.mark.parametrize("which", ["lanes", "lengths"])
def test_every_reference_within_a_drawing_leads_somewhere(which, request):
    drawing = request.getfixturevalue(which)

    referred = set(re.findall(r'(?:href="#|url\(#)([^")]+)', drawing))
    assert referred
    assert referred <= set(re.findall(r'\bid="([^"]+)"', drawing))


def test_the_same_finding_is_drawn_in_the_same_bytes(finding, lanes):
    again = drawn_lanes(finding.points)

    assert again == lanes


@pytest.mark.parametrize(("shortest", "longest"), [(0.8, 5.5), (0.004, 0.02), (90, 100_000), (400, 700)])
def test_an_axis_of_lengths_has_some_ticks_whatever_its_range(shortest, longest, finding):
    first = finding.points[0]
    points = [
        replace(first, since=first.at - timedelta(seconds=seconds), outcome=outcome)
        for seconds, outcome in ((shortest, "unharmed"), (longest, "failed"))
    ]

    labels = texts(drawn_gaps(points, {}))

    assert 3 <= len(labels) - 1 <= 12


def test_the_limit_and_the_hops_are_labelled(lengths):
    labels = texts(lengths)

    assert "idle limit between 598 s and 611 s" in labels
    assert "broker default: 600 s" in labels
    assert "AWS NAT gateway: 350 s" in labels


@pytest.mark.parametrize(
    ("figures", "label"),
    [({"limit_low": 598.0}, "idle limit above 598 s"), ({"limit_high": 611.0}, "idle limit below 611 s")],
)
def test_a_limit_with_one_known_side_names_it(figures, label, finding):
    drawing = drawn_gaps(finding.points, figures)

    assert label in texts(drawing)


def test_without_a_limit_none_is_drawn(finding):
    drawing = drawn_gaps(finding.points, {})

    assert not any("limit" in label for label in texts(drawing))


@pytest.mark.parametrize("name", ["$x^{2$ and $y", "中文-worker", "</text><script>", "\x1b[31m\x00", "a" * 300])
def test_a_subject_of_any_name_is_drawn_without_a_warning(name, finding):
    points = [replace(finding.points[0], subject=name)]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawing = drawn_lanes(points)

    assert ET.fromstring(drawing) is not None
    assert "<script>" not in drawing


@pytest.mark.parametrize("seconds", [0, 0.2, 3, 70, 5_000, 90_000, 40 * 86_400, 4_000 * 86_400])
def test_a_time_axis_has_few_ticks_whatever_its_span(seconds, finding):
    start = finding.points[0].at
    points = [
        Point(subject="a", outcome="failed", at=start),
        Point(subject="a", outcome="failed", at=start + timedelta(seconds=seconds)),
    ]

    labels = texts(drawn_lanes(points))

    assert len(labels) <= 12
