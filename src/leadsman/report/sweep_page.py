"""Writes a sweep as one HTML file, in the form of the page of findings: its sentences, a heat map, the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.report.page import content_policy, environment, template_text
from leadsman.report.sweep import heat, rows, sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leadsman.lab.sweep.conclusion import Conclusion
    from leadsman.lab.sweep.grid import Axis
    from leadsman.lab.sweep.journal import About

CAPTION = "A square is red where any try did not survive. Settings that change nothing are put together."


def page(found: Conclusion, axes: Sequence[Axis], *, about: About, wanted: int) -> str:
    """Return the page. `wanted` is how many cells there are to play in all."""
    from leadsman.report import grid_chart  # noqa: PLC0415 - matplotlib is slow to import and only a page needs it

    drawn = grid_chart.matrix_svg(heat(found, axes), prefix="sweep", title="Who survived", description=CAPTION)
    return (
        environment()
        .get_template("sweep.html.j2")
        .render(
            about=about,
            says=sentences(found),
            rows=rows(found, axes),
            svg=drawn,
            caption=CAPTION,
            played=len({each.cell for each in found.results}),
            wanted=wanted,
            css=template_text("page.css"),
            policy=content_policy(),
        )
    )
