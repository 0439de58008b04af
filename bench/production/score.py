"""Counts verdicts against an expert's, by failure mode and kind of capture."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.production.case import ABSENT, MODES, PRESENT, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from bench.production.case import DiagnosisCase

RIGHT, FALSE_PRESENT, MISSED, WRONGLY_ABSENT, OPEN = "right", "false PRESENT", "missed", "wrongly ABSENT", "open"
OUTCOMES = (RIGHT, FALSE_PRESENT, MISSED, WRONGLY_ABSENT, OPEN)

MEANING: Mapping[str, str] = {
    RIGHT: "the verdict is the expert's; of a mode that a case is not about, it is not PRESENT",
    FALSE_PRESENT: "PRESENT where the expert does not say so: the worst fault",
    MISSED: "UNKNOWN where the expert says PRESENT",
    WRONGLY_ABSENT: "ABSENT where the expert says PRESENT or UNKNOWN",
    OPEN: "UNKNOWN where the expert says ABSENT",
}


@dataclass(frozen=True, slots=True)
class ScoredVerdict:
    """One verdict on one mode of one case beside the expert's; None where the case is not about the mode."""

    case: DiagnosisCase
    mode: str
    expected: str | None
    verdict: str

    @property
    def outcome(self) -> str:
        """What the verdict amounts to: one of `OUTCOMES`."""
        if self.verdict == PRESENT != self.expected:
            return FALSE_PRESENT
        if self.expected in (None, self.verdict):
            return RIGHT
        if self.verdict == ABSENT:
            return WRONGLY_ABSENT
        return MISSED if self.expected == PRESENT else OPEN


def scored(case: DiagnosisCase, verdicts: Mapping[str, str]) -> Iterator[ScoredVerdict]:
    """Yield the verdict on each mode beside what the case expects. A verdict that is missing counts as ABSENT."""
    for mode in MODES:
        yield ScoredVerdict(case, mode, case.expected.get(mode), verdicts.get(mode, ABSENT))


@dataclass(frozen=True, slots=True)
class NamedConditions:
    """The conditions that a case expects, and those of them that the report named."""

    case: DiagnosisCase
    named: frozenset[str]

    @property
    def missing(self) -> list[str]:
        """What the report passed over."""
        return sorted(set(self.case.conditions) - self.named)


def conditions(results: Sequence[NamedConditions]) -> list[str]:
    """Return how many of the expected conditions were named, and where one was not."""
    expected = sum(len(each.case.conditions) for each in results)
    missing = [each for each in results if each.missing]
    found = expected - sum(len(each.missing) for each in missing)
    return [
        f"{found} of {expected} expected conditions were named.",
        "",
        *(f"- `{each.case.name}` does not name {', '.join(each.missing)}" for each in missing),
    ]


def worst(verdicts: Iterable[str]) -> str:
    """Return the verdict of a capture that was diagnosed in parts."""
    there = set(verdicts)
    return next((each for each in (PRESENT, UNKNOWN, ABSENT) if each in there), ABSENT)


def table(results: Sequence[ScoredVerdict]) -> list[str]:
    """Return the counts as a table in Markdown, the worst rows first."""
    groups: dict[tuple[str, str], Counter[str]] = {}
    for each in results:
        groups.setdefault((each.mode, each.case.family), Counter())[each.outcome] += 1
    rows = sorted(groups.items(), key=lambda row: (*(-row[1][each] for each in OUTCOMES[1:]), row[0]))
    lines = [f"| mode | captures | cases | {' | '.join(OUTCOMES)} |", "|---" * (3 + len(OUTCOMES)) + "|"]
    for (mode, family), counts in rows:
        cells = " | ".join(str(counts[each]) for each in OUTCOMES)
        lines.append(f"| `{mode}` | {family} | {counts.total()} | {cells} |")
    return lines


def faults(results: Sequence[ScoredVerdict]) -> list[str]:
    """Return what is not right, case by case, the worst first."""
    wrong = sorted((each for each in results if each.outcome != RIGHT), key=lambda each: OUTCOMES.index(each.outcome))
    return [
        f"- {each.outcome}: `{each.case.name}` ({each.case.form}), `{each.mode}` is {each.verdict}, "
        f"expected {each.expected or 'not PRESENT'}. {each.case.why}"
        for each in wrong
    ]
