"""docs/truth.md: how often the verdicts were right on telemetry whose authors had not read the detectors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bench.production.score import MEANING, OUTCOMES, conditions, faults, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.production.case import CaptureSize
    from bench.production.score import NamedConditions, ScoredVerdict

PAGE = Path(__file__).parents[2] / "docs" / "truth.md"

HEAD = """# How often the verdicts are right

Written by `python -m bench.production`. Do not edit.

{cases} captures of about {size} each were made by generators (`bench/production/`), in the formats in which production
systems export telemetry. Each capture has the verdict that an expert gives, and its reason. The authors of captures and
verdicts worked from the description of the incidents and of similar failures. They had not read the detectors, and no
capture had been read by leadsman yet. Detectors have been corrected since, with these captures in view: the page shows
what is known to work, and does not predict how often verdicts on new telemetry are right.

{meanings}

{table}

## Verdicts that are not right

{faults}

## Conditions

Faults of a cluster, its clients and hosts must be named whether or not a failure mode explains them.

{conditions}
"""


def write_page(
    results: Sequence[ScoredVerdict], named: Sequence[NamedConditions], *, size: CaptureSize, page: Path = PAGE
) -> None:
    """Write the counts, the worst first, and each verdict that is not the expert's."""
    text = HEAD.format(
        cases=len({each.case.name for each in results}),
        size=f"{int(size) / 1e6:g} MB",
        meanings="\n".join(f"- **{outcome}**: {MEANING[outcome]}" for outcome in OUTCOMES),
        table="\n".join(table(results)),
        faults="\n".join(faults(results)) or "Nothing.",
        conditions="\n".join(conditions(named)),
    )
    page.write_text(text, encoding="utf-8")
