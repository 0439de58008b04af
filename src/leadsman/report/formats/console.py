"""`--format console`: findings for a person at a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from rich.console import Console

from leadsman.report.console.findings import show_diagnoses
from leadsman.report.output_format import OutputFormat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leadsman.model import Diagnosis


def _write(diagnoses: Sequence[Diagnosis], stream: TextIO) -> None:
    show_diagnoses(diagnoses, Console(file=stream, highlight=False))


FORMAT = OutputFormat(write=_write)
