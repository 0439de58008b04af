"""Writes findings as one HTML file that needs nothing else: no network, no fonts, no other file.

Everything that came from a log passes two gates on its way: what would act is spelled out (`visible`), then jinja2
escapes it. A content security policy stands behind both: the page's one script runs, by its hash, and no other can.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, replace
from functools import cache, partial
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from leadsman.errors import MissingPart
from leadsman.report import conditions, exhibits, grid, outline, panels
from leadsman.report.changes import sentence
from leadsman.report.findings_json import iso
from leadsman.report.visible import visible
from leadsman.words import clock, count, duration, moment, size, span

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from jinja2 import Environment

    from leadsman.model import Diagnosis, Finding

LARGEST = 2_000_000
"""Bytes. A page is mailed and attached to tickets; beyond this it is written again with less of each thing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """How much of each thing a page holds. What is left out is counted on the page; the JSON holds it all."""

    captures: int
    charts: int
    lines_of_a_link: int
    characters_of_a_line: int
    marks_of_a_chart: int
    rows_of_a_table: int
    subjects: int


FULL = Detail(
    captures=100,
    charts=20,
    lines_of_a_link=200,
    characters_of_a_line=2_000,
    marks_of_a_chart=800,
    rows_of_a_table=100,
    subjects=24,
)
LESS = replace(
    FULL, lines_of_a_link=20, characters_of_a_line=1_000, marks_of_a_chart=200, rows_of_a_table=30, subjects=12
)
LEAST = replace(LESS, captures=50, charts=5, lines_of_a_link=2, characters_of_a_line=400, rows_of_a_table=5, subjects=4)

MOST_LISTED = 2_000
"""Rows of the table of captures: it lists also those that have no section of their own."""

LINES_OPEN = 2
"""Lines of a link that are shown unfolded: the first convinces, the second says that it was no accident."""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A chart, its caption, and what it has no room for."""

    svg: str
    caption: str
    left_out: int


def write_page(diagnoses: Sequence[Diagnosis], file: Path) -> Path:
    """Write the page and return where it is."""
    file.write_text(render(diagnoses), encoding="utf-8")
    return file


def render(diagnoses: Sequence[Diagnosis]) -> str:
    """Render all captures into one page: the fullest that stays below the size that can be mailed."""
    rendered = ""
    for detail in (FULL, LESS, LEAST):
        if len(diagnoses) <= detail.captures or detail is LEAST:
            rendered = _rendered(diagnoses, detail)
            if len(rendered.encode()) <= LARGEST:
                break
    return rendered


def _rendered(diagnoses: Sequence[Diagnosis], detail: Detail) -> str:
    worst_first = sorted(enumerate(diagnoses), key=lambda pair: outline.WORST_FIRST.index(outline.worst(pair[1])))
    shown = sorted(worst_first[: detail.captures], key=lambda pair: pair[0])
    with_points = [
        f"c{number + 1}f{place}"
        for number, diagnosis in shown
        for place, finding in enumerate(diagnosis.findings, start=1)
        if finding.points or finding.matrix
    ]
    return (
        environment()
        .get_template("page.html.j2")
        .render(
            diagnoses=diagnoses[:MOST_LISTED],
            titles=outline.titles(diagnoses),
            total=len(diagnoses),
            shown={number + 1: diagnosis for number, diagnosis in shown},
            detail=detail,
            shortened=detail is not FULL,
            css=template_text("page.css"),
            script=template_text("copy.js"),
            policy=content_policy(),
            drawn=with_points[: detail.charts],
            draw={name: partial(exhibit, detail=detail) for name, exhibit in EXHIBITS.items()},
        )
    )


def content_policy() -> str:
    """Forbid everything but the page's own style and its one script."""
    digest = b64encode(sha256(template_text("copy.js").encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def timeline(finding: Finding, prefix: str, *, detail: Detail) -> Exhibit | None:
    """Draw when the subjects of a finding were active, quiet and in trouble."""
    chosen = exhibits.timeline(panels.happened(finding), detail.subjects)
    if chosen is None:
        return None
    from leadsman.report import charts  # noqa: PLC0415 - matplotlib is slow to import and only a page needs it

    troubles = sum(len(lane.troubles) for lane in chosen.lanes)
    caption = (
        f"Activity of {count(len(chosen.lanes), 'subject subjects')}, {span(chosen.since, chosen.until)}, with "
        f"{count(troubles, 'trouble troubles')}."
    )
    svg = charts.timeline_svg(chosen, prefix=prefix, title=f"Timeline of {finding.mode}", description=caption)
    return Exhibit(svg, caption, chosen.left_out)


def gaps(finding: Finding, prefix: str, *, detail: Detail) -> Exhibit | None:
    """Draw quiet gaps against how they ended, with the inferred limit."""
    chosen = exhibits.gaps(panels.happened(finding), finding.figures, detail.marks_of_a_chart)
    if chosen is None:
        return None
    from leadsman.report import charts  # noqa: PLC0415 - matplotlib is slow to import and only a page needs it

    caption = _gaps_caption(chosen)
    svg = charts.gaps_svg(
        chosen, prefix=prefix, title=f"Quiet gaps and outcomes of {finding.mode}", description=caption
    )
    return Exhibit(svg, caption, chosen.left_out)


def panels_of(finding: Finding, prefix: str, *, detail: Detail) -> list[tuple[panels.Drawn, Exhibit]]:
    """Draw the panels that the capture holds values of."""
    chosen = panels.drawn(finding, detail.subjects)
    if not chosen:
        return []
    from leadsman.report import charts  # noqa: PLC0415 - matplotlib is slow to import and only a page needs it

    shown = []
    for number, each in enumerate(chosen, start=1):
        caption = panels.caption(each)
        svg = charts.panel_svg(each, prefix=f"{prefix}{number}", title=each.panel.title, description=caption)
        shown.append((each, Exhibit(svg, caption, each.left_out)))
    return shown


def matrix(finding: Finding, prefix: str, *, detail: Detail) -> Exhibit | None:
    """Draw who stands how to whom."""
    if finding.matrix is None:
        return None
    from leadsman.report import grid_chart  # noqa: PLC0415 - matplotlib is slow to import and only a page needs it

    chosen = grid.grid(finding.matrix, detail.subjects, detail.subjects)
    caption = visible(f"Of all pairs with data: {grid.tally(finding.matrix)}.")
    svg = grid_chart.matrix_svg(chosen, prefix=prefix, title=visible(finding.matrix.axes.title), description=caption)
    return Exhibit(svg, f"{caption} Not drawn: {chosen.left_out}." if chosen.left_out else caption, 0)


EXHIBITS: Mapping[str, Callable[..., Any]] = {
    "timeline": timeline,
    "gaps": gaps,
    "panels": panels_of,
    "matrix": matrix,
}
"""What a page can draw of a finding; each is None, or empty, where the finding holds nothing of the kind."""


def _gaps_caption(chosen: exhibits.Gaps) -> str:
    trouble = [gap.seconds for gap in chosen.gaps if exhibits.is_trouble(gap)]
    calm = [gap.seconds for gap in chosen.gaps if not exhibits.is_trouble(gap)]
    parts = []
    if trouble:
        parts.append(f"The shortest gap that ended in trouble lasted {duration(min(trouble))}")
    if calm:
        parts.append(f"the longest that harmed nobody {duration(max(calm))}")
    said = ", ".join(parts)
    return f"{said[:1].upper()}{said[1:]}."


@cache
def environment() -> Environment:
    """Return where templates come from; what they show cannot act."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - not in the light installation
        from markupsafe import Markup  # noqa: PLC0415 - comes with jinja2
    except ImportError as error:
        raise MissingPart(
            "The report page needs jinja2 and matplotlib, which are not installed. Install them: "
            "pip install 'leadsman[spark]'"
        ) from error

    def shown(value: Any) -> Any:  # noqa: ANN401 - jinja2 hands over whatever an expression yields
        return visible(value, keep="\t\n") if isinstance(value, str) and not isinstance(value, Markup) else value

    environment = Environment(
        loader=PackageLoader("leadsman.report"),
        autoescape=True,
        finalize=shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(clock=clock, count=count, duration=duration, iso=iso, moment=moment, size=size)
    environment.filters.update(one_line=visible)
    environment.globals.update(
        change_sentence=sentence,
        conditions=conditions,
        outline=outline,
        exhibits=exhibits,
        grid=grid,
        panels=panels,
        span=span,
        lines_open=LINES_OPEN,
        trouble=exhibits.is_trouble,
    )
    return environment


def template_text(name: str) -> str:
    """Return a file beside the templates."""
    return (files("leadsman.report") / "templates" / name).read_text(encoding="utf-8")
