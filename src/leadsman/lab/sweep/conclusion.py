"""What a sweep found: of each setting whether it decides, from which value on, and the settling time behind it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from leadsman.lab.sweep.grid import Axis, Cell
    from leadsman.lab.sweep.journal import Entry, Fate

MILLISECONDS = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """All repeats of one program in one cell: how many survived, and the worst of each figure."""

    cell: Cell
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
        """Whether repeats came out differently."""
        return 0 < self.survived < self.repeats


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What one setting does for one program of one client.

    `decides`: with all else alike, its value makes a difference. `smallest` survives, whatever else is set, and so
    does every larger value; `largest` the other way round. `perishes` is the nearest value that does not survive.
    """

    who: str
    setting: str
    decides: bool
    smallest: str | None = None
    largest: str | None = None
    perishes: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settling:
    """The shortest and the longest time that the world was out of order, in seconds, over so many runs."""

    shortest: float
    longest: float
    runs: int

    def explains(self, effect: Effect) -> bool:
        """Whether the values lie on both sides of it: those that survive above, those that perish below."""
        if effect.smallest is None or effect.perishes is None or not effect.setting.endswith(".ms"):
            return False
        perishes, survives = (float(value) / MILLISECONDS for value in (effect.perishes, effect.smallest))
        return perishes <= self.longest and survives >= self.shortest


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """The whole of it. `always` and `never` are those who survived in every cell, or in none."""

    results: tuple[Result, ...]
    effects: tuple[Effect, ...]
    settling: Settling | None
    always: tuple[str, ...]
    never: tuple[str, ...]


def conclude(entries: Iterable[Entry], axes: Sequence[Axis], cells: Sequence[Cell]) -> Conclusion:
    """Conclude from what was played of these cells so far; a journal can hold others too."""
    asked = [entry for entry in entries if entry.cell in cells]
    results = tuple(sorted(results_of(asked), key=lambda each: (cells.index(each.cell), each.program)))
    own: dict[str, list[Result]] = defaultdict(list)
    for each in results:
        own[each.who].append(each)
    return Conclusion(
        results=results,
        effects=tuple(_effect(who, each, some) for who, some in own.items() for each in axes if len(each.values) > 1),
        settling=_settling(asked),
        always=tuple(who for who, some in own.items() if all(each.safe for each in some)),
        never=tuple(who for who, some in own.items() if not any(each.survived for each in some)),
    )


def results_of(entries: Iterable[Entry]) -> tuple[Result, ...]:
    """Put the repeats of each program in each cell together."""
    fates: dict[tuple[Cell, str], list[Fate]] = defaultdict(list)
    for entry in entries:
        for program, fate in entry.fates.items():
            fates[entry.cell, program].append(fate)
    return tuple(_result(cell, program, played) for (cell, program), played in fates.items())


def _result(cell: Cell, program: str, played: Sequence[Fate]) -> Result:
    def worst(*kinds: str) -> int:
        return max(sum(fate.harm.get(kind, 0) for kind in kinds) for fate in played)

    return Result(
        cell=cell,
        program=program,
        repeats=len(played),
        survived=sum(fate.survived for fate in played),
        waited=max(fate.waited for fate in played),
        lost=worst("lost", "stalled"),
        duplicated=worst("duplicated"),
        died=worst("died"),
    )


def _effect(who: str, axis: Axis, results: Sequence[Result]) -> Effect:
    """Look along the setting, with all others held, at each combination of these."""
    safe: dict[str, bool] = dict.fromkeys(axis.values, True)
    rows: dict[tuple[tuple[str, str], ...], set[bool]] = defaultdict(set)
    for result in results:
        settings = dict(result.cell.settings)
        value = settings.pop(axis.name)
        safe[value] &= result.safe
        rows[tuple(settings.items())].add(result.safe)
    decides = any(len(outcomes) > 1 for outcomes in rows.values())
    return Effect(who=who, setting=axis.name, decides=decides, **_threshold(axis.values, safe) if decides else {})


def _threshold(values: Sequence[str], safe: Mapping[str, bool]) -> dict[str, str]:
    """Find the one place where survival begins or ends; nothing where there is none, or more than one."""
    outcomes = [safe[value] for value in values]
    turns = [place for place in range(1, len(values)) if outcomes[place] != outcomes[place - 1]]
    if len(turns) != 1:
        return {}
    below, above = values[turns[0] - 1], values[turns[0]]
    return {"smallest": above, "perishes": below} if outcomes[-1] else {"largest": below, "perishes": above}


def _settling(entries: Iterable[Entry]) -> Settling | None:
    measured = [entry.settling for entry in entries if entry.settling is not None]
    return Settling(shortest=min(measured), longest=max(measured), runs=len(measured)) if measured else None
