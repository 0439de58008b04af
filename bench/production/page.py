"""docs/truth.md: how often the verdicts were right on telemetry that no detector was written beside."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bench.production.score import MEANING, OUTCOMES, conditions, faults, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.production.case import Size
    from bench.production.score import Named, Scored

PAGE = Path(__file__).parents[2] / "docs" / "truth.md"

HEAD = """# How often the verdicts are right

Written by `python -m bench.production`. Do not edit.

{cases} captures of about {size} each were made by generators (`bench/production/`), in the forms in which production
hands telemetry over. Each has the verdict that an expert gives, and why. Both were written down from the description of
the incidents and of what looks like them, by authors who had not read the detectors, before leadsman read any of them.
Detectors have been mended since, with these captures in view: the page says what is known to hold, and not what to
expect of telemetry that nobody has seen.

{meanings}

{table}

## What is not right

{faults}

## Conditions

What is wrong with a cluster, its clients and hosts must be named whether or not a failure mode knows why.

{conditions}
"""


def write_page(results: Sequence[Scored], named: Sequence[Named], *, size: Size, page: Path = PAGE) -> None:
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
