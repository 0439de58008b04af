"""What changed between two times or two captures."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leadsman.model.finding import Evidence


class ChangeType(StrEnum):
    """How the state after differs from the state before."""

    NEW = "new"
    GONE = "gone"
    CHANGED = "changed"
    MORE = "more"
    FEWER = "fewer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The same change of one or several things: `count` in all, of which `things` names some.

    `kind` is one of `pipeline.changes.compared_states`. `key` says which value of the things changed, such as a
    setting's name. `changed_earlier`: the value had changed before the compared times, too. `evidence` is the first
    line that shows the new state.
    """

    kind: str
    how: ChangeType
    things: tuple[str, ...]
    count: int
    key: str = ""
    before: str | float | None = None
    after: str | float | None = None
    changed_earlier: bool = False
    evidence: Evidence | None = None

    @property
    def magnitude(self) -> float:
        """How large the change is: the factor between two numbers, else the number of changed things."""
        if isinstance(self.before, float) and isinstance(self.after, float):
            return max(self.before, self.after) / max(min(self.before, self.after), 1.0)
        return float(self.count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """All changes, the most important first. `compared` are the kinds of which both sides hold data.

    `not_comparable` are the other kinds, each with whether the side before and the side after hold data: no data does
    not mean no change.
    """

    changes: tuple[Change, ...]
    compared: tuple[str, ...]
    not_comparable: tuple[tuple[str, bool, bool], ...]
    uncollected: tuple[tuple[str, int], ...] = ()
    """By kind, how many things stood in lists before that were not collected after: they may or may not exist still."""
