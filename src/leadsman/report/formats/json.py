"""`--format json`: the document "leadsman.findings/1" for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from leadsman.report.json_documents.findings import findings_json
from leadsman.report.output_format import OutputFormat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leadsman.model import Diagnosis


def _write(diagnoses: Sequence[Diagnosis], stream: TextIO) -> None:
    stream.write(findings_json(diagnoses) + "\n")


FORMAT = OutputFormat(write=_write, file="findings.json")
