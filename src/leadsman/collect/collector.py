"""What a collector is, and which there are. Nothing registers itself.

A collector turns its options into probes. A probe is one thing to be had: as which file, by which plain command, and
how we get it. The same probes are run, or printed for people who may not run us there.
"""

from __future__ import annotations

import pkgutil
import shlex
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from leadsman.collect import collectors
from leadsman.errors import LeadsmanError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path
    from typing import Any

    import click

COMMAND_WITHIN = timedelta(seconds=60)
"""A command that hangs must not hang the collector: what is asked for takes seconds on a healthy host."""


class CouldNotBeHad(LeadsmanError):
    """A probe got nothing, or not all of it. `str()` of it is the reason that the capture notes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One thing to be had from a running system.

    `file` is its place in the capture, with slashes and without spaces. `source` is a word for what it is. `argv` is
    the command to run: its standard output is the text. Where we get it in another way, `take` yields the same text
    as the plain command, given as it is `typed`, would print, in pieces of whole lines; it raises CouldNotBeHad where
    there is no more to be had.
    `each` is set instead where it is one thing for each of something that is only known over there, such as partitions:
    it yields a probe for each. The plain commands then come from a `listing`: names of variables, and a command that
    prints a line of their values for each; `typed` holds the variables.
    `again` is off for what does not change while a series is taken. `plain` files get no line above that says when
    and where: logs say so themselves. `saves` is for what is no text: it writes a file of its own, which nobody can
    mask.
    `subject` is whom it is of, where that is not the host on which it is asked. `note` is for the manifest.
    """

    file: str
    source: str
    argv: Sequence[str] = ()
    typed: str = ""
    take: Callable[[], Iterable[str]] | None = None
    each: Callable[[], Iterable[Probe]] | None = None
    listing: tuple[str, str] | None = None
    saves: Callable[[Path], None] | None = None
    again: bool = True
    plain: bool = False
    within: timedelta = COMMAND_WITHIN
    subject: str = ""
    note: str = ""

    @property
    def command(self) -> str:
        """The plain command that gives the same."""
        return self.typed or shlex.join(self.argv)


@dataclass(frozen=True, slots=True, kw_only=True)
class Collector:
    """One way to collect.

    `parameters` are its click options and arguments. `probes` is called with their values; it returns a context
    manager that yields the probes, so that connections can be closed. It must not connect or look at anything before
    a probe is taken: the commands are printed on machines from which nothing can be reached.
    `part` is the optional part of the installation that it needs, if any. `help` is the text of `--help`.
    """

    title: str
    help: str
    parameters: Sequence[click.Parameter]
    probes: Callable[..., AbstractContextManager[Iterable[Probe]]]
    part: str = ""
    examples: Sequence[str] = field(default_factory=tuple)

    def open(self, options: Mapping[str, Any]) -> AbstractContextManager[Iterable[Probe]]:
        """Return the probes for these options."""
        return self.probes(**options)


@cache
def names() -> tuple[str, ...]:
    """Return the names of all collectors, in alphabetical order."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(collectors.__path__)))


def named(name: str) -> Collector:
    """Return the collector of this name."""
    collector: Collector = import_module(f"{collectors.__name__}.{name}").COLLECTOR
    return collector
