"""What a rule of the gate is. Rules are data in the folder of their mode, each in a module of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leadsman.gate.code.syntax import Span
    from leadsman.gate.facts import Facts, Match


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule of the gate. Its id is the name of its module.

    `title`: what it objects to, in at most nine words. `why`: the reason, with the number's source. `fix`: what to do.
    `find` yields the places. It reads nothing but the facts, and a value that the file does not say is no match.
    """

    title: str
    why: str
    fix: str
    find: Callable[[Facts], Iterator[Match]]


@dataclass(frozen=True, slots=True)
class ModeRule:
    """A rule with its id, its mode, and the title of the failure that it prevents."""

    id: str
    mode: str
    incident: str
    rule: Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A place that a rule objects to, with all that an output needs. `line_text` is the line at `span`.

    `incident` is the title of the failure mode that the rule prevents.
    """

    rule: str
    mode: str
    incident: str
    path: str
    span: Span
    message: str
    why: str
    fix: str
    line_text: str
    replacement: str | None = None
    replacement_span: Span | None = None
