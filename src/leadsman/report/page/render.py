"""Writes findings as one HTML file that needs nothing else: no network, no fonts, no other file.

Everything that came from a log is escaped twice: control characters are spelled out
(`report.text.escaping`), then jinja2 escapes the HTML. A content security policy stands behind both: the browser runs
the page's one script, known by its hash, and no other.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from leadsman.report.page.detail import FULL, LEAST, LESS
from leadsman.report.page.finding_charts import CHARTS
from leadsman.report.page.templates import content_policy, template_environment, template_text
from leadsman.report.text import findings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leadsman.model import Diagnosis
    from leadsman.report.page.detail import Detail

MAX_PAGE_BYTES = 2_000_000
"""A page is mailed and attached to tickets; a larger page is written again with less of each thing."""

CAPTURES_LISTED = 2_000
"""Rows of the table of captures: the table also lists captures without a section of their own."""


def render_page(diagnoses: Sequence[Diagnosis]) -> str:
    """Render all captures into one page: the most detailed page that stays below MAX_PAGE_BYTES."""
    page = ""
    for detail in (FULL, LESS, LEAST):
        if len(diagnoses) <= detail.captures or detail is LEAST:
            page = _render(diagnoses, detail)
            if len(page.encode()) <= MAX_PAGE_BYTES:
                break
    return page


def _render(diagnoses: Sequence[Diagnosis], detail: Detail) -> str:
    verdicts = [findings.VERDICT_ORDER.index(findings.worst_verdict(each)) for each in diagnoses]
    worst_first = sorted(enumerate(diagnoses), key=lambda pair: verdicts[pair[0]])
    shown = sorted(worst_first[: detail.captures], key=lambda pair: pair[0])
    with_points = [
        f"c{number + 1}f{rank}"
        for number, diagnosis in shown
        for rank, finding in enumerate(findings.checked_findings(diagnosis), start=1)
        if finding.points or finding.matrix
    ]
    return (
        template_environment()
        .get_template("page.html.j2")
        .render(
            diagnoses=diagnoses[:CAPTURES_LISTED],
            titles=findings.diagnosis_titles(diagnoses),
            total=len(diagnoses),
            shown={number + 1: diagnosis for number, diagnosis in shown},
            detail=detail,
            shortened=detail is not FULL,
            css=template_text("page.css"),
            script=template_text("copy.js"),
            policy=content_policy(),
            drawn=with_points[: detail.charts],
            draw={name: partial(chart, detail=detail) for name, chart in CHARTS.items()},
        )
    )
