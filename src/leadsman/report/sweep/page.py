"""Writes a sweep as one HTML file, in the style of the page of findings: sentences, a heat map, the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.report.page.templates import content_policy, template_environment, template_text
from leadsman.report.sweep.tables import heat_map, rows, sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leadsman.sweep.conclusion import Conclusion
    from leadsman.sweep.grid import Axis
    from leadsman.sweep.journal import SweepTarget

CAPTION = "A square is red where any repeat did not survive. Settings without effect are merged."


def sweep_page(conclusion: Conclusion, axes: Sequence[Axis], *, target: SweepTarget, total: int) -> str:
    """Return the page. `total` is the number of cells of the whole grid."""
    from leadsman.report.charts import matrix_drawing  # matplotlib is slow to import and only a page needs it

    drawing = matrix_drawing.matrix_svg(
        heat_map(conclusion, axes), prefix="sweep", title="Survival by setting", description=CAPTION
    )
    return (
        template_environment()
        .get_template("sweep.html.j2")
        .render(
            target=target,
            sentences=sentences(conclusion),
            rows=rows(conclusion, axes),
            svg=drawing,
            caption=CAPTION,
            measured=len({each.cell for each in conclusion.results}),
            total=total,
            css=template_text("page.css"),
            policy=content_policy(),
        )
    )
