"""The conclusion of a sweep: which settings decide, from which value on, and the recovery time that explains it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from leadsman.sweep.grid import Axis, SweepCell
    from leadsman.sweep.journal import JournalEntry, ProgramOutcome

MILLISECONDS = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult:
    """All repeats of one program in one cell: how many survived, and the worst of each figure."""

    cell: SweepCell
    program: str
    repeats: int
    survived: int
    waited: float
    lost: int
    duplicated: int
    died: int

    @property
    def who(self) -> str:
        """Client and program."""
        return f"{self.cell.client} {self.program}".rstrip()

    @property
    def safe(self) -> bool:
        """Whether every repeat survived."""
        return self.survived == self.repeats

    @property
    def unsteady(self) -> bool:
        """Whether some repeats survived and others did not."""
        return 0 < self.survived < self.repeats


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingEffect:
    """The effect of one setting on one program of one client.

    `decides`: with all else equal, its value makes a difference. `smallest` survives, whatever else is set, and so
    does every larger value; `largest` the other way round. `fails_at` is the nearest value that does not survive.
    """

    who: str
    setting: str
    decides: bool
    smallest: str | None = None
    largest: str | None = None
    fails_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryTime:
    """The shortest and the longest time from the fault to the cluster's recovery, in seconds, over so many runs."""

    shortest: float
    longest: float
    runs: int

    def explains(self, effect: SettingEffect) -> bool:
        """Whether the values lie on both sides of it: surviving values above, failing values below."""
        if effect.smallest is None or effect.fails_at is None or not effect.setting.endswith(".ms"):
            return False
        fails_at, survives = (float(value) / MILLISECONDS for value in (effect.fails_at, effect.smallest))
        return fails_at <= self.longest and survives >= self.shortest


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """All results. `always` and `never` are the programs that survived in every cell, or in none."""

    results: tuple[CellResult, ...]
    effects: tuple[SettingEffect, ...]
    recovery_time: RecoveryTime | None
    always: tuple[str, ...]
    never: tuple[str, ...]


def conclude(entries: Iterable[JournalEntry], axes: Sequence[Axis], cells: Sequence[SweepCell]) -> Conclusion:
    """Conclude from the entries of these cells; a journal can hold others too."""
    considered = [entry for entry in entries if entry.cell in cells]
    results = tuple(sorted(group_repeats(considered), key=lambda each: (cells.index(each.cell), each.program)))
    own: dict[str, list[CellResult]] = defaultdict(list)
    for each in results:
        own[each.who].append(each)
    return Conclusion(
        results=results,
        effects=tuple(_effect(who, each, some) for who, some in own.items() for each in axes if len(each.values) > 1),
        recovery_time=_recovery_time(considered),
        always=tuple(who for who, some in own.items() if all(each.safe for each in some)),
        never=tuple(who for who, some in own.items() if not any(each.survived for each in some)),
    )


def group_repeats(entries: Iterable[JournalEntry]) -> tuple[CellResult, ...]:
    """Group the repeats of each program in each cell."""
    outcomes: dict[tuple[SweepCell, str], list[ProgramOutcome]] = defaultdict(list)
    for entry in entries:
        for program, outcome in entry.outcomes.items():
            outcomes[entry.cell, program].append(outcome)
    return tuple(_result(cell, program, repeats) for (cell, program), repeats in outcomes.items())


def _result(cell: SweepCell, program: str, repeats: Sequence[ProgramOutcome]) -> CellResult:
    def worst(*kinds: str) -> int:
        return max(sum(outcome.harm.get(kind, 0) for kind in kinds) for outcome in repeats)

    return CellResult(
        cell=cell,
        program=program,
        repeats=len(repeats),
        survived=sum(outcome.survived for outcome in repeats),
        waited=max(outcome.waited for outcome in repeats),
        lost=worst("lost", "stalled"),
        duplicated=worst("duplicated"),
        died=worst("died"),
    )


def _effect(who: str, axis: Axis, results: Sequence[CellResult]) -> SettingEffect:
    """Compare the setting's values, with all other settings fixed, in each combination of these."""
    safe: dict[str, bool] = dict.fromkeys(axis.values, True)
    rows: dict[tuple[tuple[str, str], ...], set[bool]] = defaultdict(set)
    for result in results:
        settings = dict(result.cell.settings)
        value = settings.pop(axis.name)
        safe[value] &= result.safe
        rows[tuple(settings.items())].add(result.safe)
    decides = any(len(outcomes) > 1 for outcomes in rows.values())
    return SettingEffect(
        who=who, setting=axis.name, decides=decides, **_threshold(axis.values, safe) if decides else {}
    )


def _threshold(values: Sequence[str], safe: Mapping[str, bool]) -> dict[str, str]:
    """Find the one place where survival begins or ends; nothing where there is none, or more than one."""
    outcomes = [safe[value] for value in values]
    turns = [index for index in range(1, len(values)) if outcomes[index] != outcomes[index - 1]]
    if len(turns) != 1:
        return {}
    below, above = values[turns[0] - 1], values[turns[0]]
    return {"smallest": above, "fails_at": below} if outcomes[-1] else {"largest": below, "fails_at": above}


def _recovery_time(entries: Iterable[JournalEntry]) -> RecoveryTime | None:
    measured = [entry.recovery_seconds for entry in entries if entry.recovery_seconds is not None]
    return RecoveryTime(shortest=min(measured), longest=max(measured), runs=len(measured)) if measured else None
