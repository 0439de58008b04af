"""What a remedy is. A mode brings its own in `remedy.py` of its folder; nothing registers itself.

A remedy inspects the running system and makes a plan: its steps, what would be lost, and a check of the effect. Making
a plan changes nothing. Each step says how it is undone.
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
    """There is nothing to cure here, or the remedy would do harm. `str()` gives the reason, and what to do instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One change to a running system.

    `command` is the plain command that does the same. `undo` undoes it, as `undo_command` does; a step without
    `undo` cannot be undone. A temporary step is undone once its effect was awaited, whether that came or not. `do` may
    be called again after an `undo`.
    """

    description: str
    command: str
    do: Callable[[], object]
    undo: Callable[[], object] | None = None
    undo_command: str = ""
    is_temporary: bool = False


@dataclass(frozen=True, slots=True)
class RemedyStatus:
    """The status of the system at one moment: whether it is cured, and a description in one line."""

    is_cured: bool
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemedyPlan:
    """The changes that a remedy would make to this system.

    `details` are lines that were found for this plan: what would be deleted, which groups it concerns. `warnings` are
    possible side effects. `check` returns the status, before and after; after the steps it is called every `every`
    until the system is cured, for `timeout` at most. `confirmation` is the word that the user has to type where the
    plan cannot be undone: a topic's name.
    """

    title: str
    why: str
    steps: Sequence[Step]
    check: Callable[[], RemedyStatus]
    details: Sequence[str] = ()
    warnings: Sequence[str] = ()
    timeout: timedelta = timedelta(seconds=60)
    every: timedelta = timedelta(seconds=1)
    confirmation: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """One method to cure a running system.

    `parameters` are its click options and arguments. `plan` is called with their values; it returns a context manager
    that yields the plan, so that connections can be closed, and raises Refused. `extra` is the optional part of the
    installation that it needs, if any. `help` is the text of `--help`.
    """

    title: str
    help: str
    parameters: Sequence[click.Parameter]
    plan: Callable[..., AbstractContextManager[RemedyPlan]]
    extra: str = ""
    examples: Sequence[str] = field(default_factory=tuple)

    def open(self, options: Mapping[str, Any]) -> AbstractContextManager[RemedyPlan]:
        """Return the plan for these options. This inspects the system and changes nothing."""
        return self.plan(**options)
