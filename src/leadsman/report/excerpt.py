"""Chooses the real lines that a mode's page shows: what the detector quoted of the first failure that the lab recorded.

`python -m leadsman.report.excerpt MODE` writes them to the mode's recorded/excerpt.log. The contract test holds the
file against the recording, so that a page never shows a line that nothing was concluded from.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leadsman.model import Diagnosis, Evidence

SECONDS_OF_A_FAILURE = 2.0
"""Lines this near to the first failure belong to it; as in the detectors' episodes."""


def excerpt(diagnosis: Diagnosis, mode: str) -> list[Evidence]:
    """Return the evidence of one subject's first failure, in the order of the log, each line once."""
    (finding,) = [each for each in diagnosis.findings if each.mode == mode]
    symptom = finding.chain[-1].evidence[0]
    assert symptom.time is not None
    lines = {line.line: line for link in finding.chain for line in link.evidence if line.file == symptom.file}
    last = max(
        number
        for number, line in lines.items()
        if line.time and (line.time - symptom.time).total_seconds() <= SECONDS_OF_A_FAILURE
    )
    return [lines[number] for number in sorted(lines) if number <= last]


def main(name: str) -> None:
    """Diagnose the mode's recording that `page_recording` names and write the excerpt beside it."""
    from leadsman.catalogue import modes_named  # noqa: PLC0415 - this tool alone needs all of these
    from leadsman.pipeline.diagnose import diagnose  # noqa: PLC0415
    from leadsman.pipeline.question import Question, look, read_small  # noqa: PLC0415
    from leadsman.pipeline.session import session  # noqa: PLC0415

    (mode,) = modes_named([name])
    with session() as spark:
        source = read_small(look([str(mode.page_recording)]))
        (diagnosis,) = diagnose(spark, source, Question(modes=[mode]))
    text = "".join(f"{line.text}\n" for line in excerpt(diagnosis, mode.name))
    (mode.folder / "recorded" / "excerpt.log").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
