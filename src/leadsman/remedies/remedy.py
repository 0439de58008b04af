"""What a remedy is. A mode brings its own in `remedy.py` of its folder; nothing registers itself.

A remedy looks at the running system and makes a plan: what would be done, what would be lost, and how one sees that
it helped. Making a plan changes nothing. What is done is done step by step, and each step says how it is taken back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from leadsman.errors import LeadsmanError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    import click


class Refused(LeadsmanError):
    """There is nothing to be done here, or it would do harm. `str()` of it says why, and what to do instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One change to a running system.

    `command` is the plain command that does the same. `undo` takes it back, as `undo_command` does; a step without
    it cannot be taken back. A `passing` step holds only while its effect is waited for, and is taken back afterwards
    whatever has come of it. `do` may be called again after an `undo`.
    """

    says: str
    command: str
    do: Callable[[], object]
    undo: Callable[[], object] | None = None
    undo_command: str = ""
    passing: bool = False


@dataclass(frozen=True, slots=True)
class Look:
    """What is seen of the illness at one moment: whether it is gone, and how it stands in one line."""

    cured: bool
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a remedy would do to this system.

    `shows` are lines that were found out for this plan: what would go, who is concerned. `warnings` are what can go
    wrong. `look` sees how things stand, before and after; after the steps it is called every `every` until it says
    that they are cured, for `within` at most. `word` is what one has to type where one cannot go back: a topic's name.
    """

    title: str
    why: str
    steps: Sequence[Step]
    look: Callable[[], Look]
    shows: Sequence[str] = ()
    warnings: Sequence[str] = ()
    within: timedelta = timedelta(seconds=60)
    every: timedelta = timedelta(seconds=1)
    word: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """One way to cure a running system.

    `parameters` are its click options and arguments. `plan` is called with their values; it returns a context manager
    that yields the plan, so that connections can be closed, and raises Refused. `part` is the optional part of the
    installation that it needs, if any. `help` is the text of `--help`.
    """

    title: str
    help: str
    parameters: Sequence[click.Parameter]
    plan: Callable[..., AbstractContextManager[Plan]]
    part: str = ""
    examples: Sequence[str] = field(default_factory=tuple)

    def open(self, options: Mapping[str, Any]) -> AbstractContextManager[Plan]:
        """Return the plan for these options. It looks at the system and changes nothing."""
        return self.plan(**options)
