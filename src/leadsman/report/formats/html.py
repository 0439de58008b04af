"""`--format html`: the page, one HTML file that needs nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from leadsman.report.output_format import OutputFormat
from leadsman.report.page.render import render_page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leadsman.model import Diagnosis


def _write(diagnoses: Sequence[Diagnosis], stream: TextIO) -> None:
    encoding = stream.encoding or "utf-8"
    stream.write(render_page(diagnoses).encode(encoding, "xmlcharrefreplace").decode(encoding))


FORMAT = OutputFormat(write=_write, file="report.html", has_charts=True)
