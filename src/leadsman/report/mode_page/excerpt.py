"""Writes the log excerpt of a mode's page: the evidence lines of the first failure in the recording.

`python -m leadsman.report.mode_page.excerpt MODE` writes the mode's recorded/excerpt.log. The contract test
compares the file with the recording, so that a page shows only lines that are evidence.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leadsman.model import Diagnosis, Evidence

FAILURE_SECONDS = 2.0
"""Lines within this time of the first failure belong to the failure, as in the detectors' episodes."""


def excerpt(diagnosis: Diagnosis, mode: str) -> list[Evidence]:
    """Return the evidence of one subject's first failure, in the order of the log, each line once."""
    (finding,) = [each for each in diagnosis.findings if each.mode == mode]
    symptom = finding.chain[-1].evidence[0]
    assert symptom.time is not None
    lines = {line.line: line for link in finding.chain for line in link.evidence if line.file == symptom.file}
    last = max(
        number
        for number, line in lines.items()
        if line.time and (line.time - symptom.time).total_seconds() <= FAILURE_SECONDS
    )
    return [lines[number] for number in sorted(lines) if number <= last]


def main(name: str) -> None:
    """Diagnose the mode's recording that `page_recording` names and write the excerpt beside it."""
    from leadsman.catalogue import modes_named  # this tool alone needs all of these
    from leadsman.pipeline.diagnose import diagnose
    from leadsman.pipeline.request import DiagnosisRequest, find_input, read_small_input
    from leadsman.pipeline.spark.session import session

    (mode,) = modes_named([name])
    with session() as spark:
        inputs = read_small_input(find_input([str(mode.page_recording)]))
        (diagnosis,) = diagnose(spark, inputs, DiagnosisRequest(modes=[mode]))
    text = "".join(f"{line.text}\n" for line in excerpt(diagnosis, mode.name))
    (mode.folder / "recorded" / "excerpt.log").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
