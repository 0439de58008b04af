"""What a collector is, and which collectors there are. Nothing registers itself.

A collector turns its options into probes. A probe collects one item: into which file of the capture, by which shell
command, and how leadsman reads the same text. Probes are run, or printed as a script for hosts without leadsman.
"""

from __future__ import annotations

import pkgutil
import shlex
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from leadsman.collect import collectors
from leadsman.errors import LeadsmanError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path
    from typing import Any

    import click

COMMAND_TIMEOUT = timedelta(seconds=60)
"""A command that hangs must not hang the collector: on a healthy host each command takes seconds."""


class NotCollected(LeadsmanError):
    """A probe collected nothing, or not everything. `str()` of it is the reason, which the capture records.

    What the probe yielded before stays in the capture: the brokers, groups or lines that could be read.
    """


class Unusable(NotCollected):
    """What a probe yielded is no such item, or has no end. The capture keeps the reason alone."""


class ItemListing(NamedTuple):
    """How a script collects the items that a probe expands to.

    `command` prints a line for each item: the values of the shell variables `names`. These variables can stand in
    `file`, the item's place in the capture, and in `item_command`, which prints the item.
    """

    names: str
    command: str
    file: str
    item_command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One item to collect from a running system.

    `file` is its place in the capture, with slashes and without spaces. `source` is a word for what it is. `title` is
    what is shown while the probe runs, and in messages.

    How the text is read, one of: `argv`, a command whose standard output is the text; `read`, which yields the text of
    `shell_command` in pieces and raises NotCollected where it cannot go on; `write_to`, for data that
    is no text: it writes a file of its own, in which secrets cannot be masked; `expand`, for one item for each of
    something that only the running system knows, such as partitions: it yields a probe for each.
    With `expand`, `listing` is how a script does that. Where the items have files of their own, `file` is the place of
    the reason why there is none.

    `in_series` is off for an item that does not change during a series. `has_own_times`: the lines carry their own
    times, as logs do, so that no section line is written above them.
    `subject` is the subject of the item where it is not the host that runs the command. `note` is for the manifest.
    """

    file: str
    source: str
    argv: Sequence[str] = ()
    shell_command: str = ""
    read: Callable[[], Iterable[str]] | None = None
    expand: Callable[[], Iterable[Probe]] | None = None
    listing: ItemListing | None = None
    write_to: Callable[[Path], None] | None = None
    in_series: bool = True
    has_own_times: bool = False
    timeout: timedelta = COMMAND_TIMEOUT
    subject: str = ""
    note: str = ""
    title: str = ""

    @property
    def name(self) -> str:
        """What is shown while the probe runs, and in messages."""
        return self.title or self.file

    @property
    def has_text(self) -> bool:
        """Whether `file` holds the text: not where the probe expands to items that have files of their own."""
        return self.listing is None or self.listing.file == self.file

    @property
    def command(self) -> str:
        """The shell command that prints the same text."""
        return self.shell_command or shlex.join(self.argv)


@dataclass(frozen=True, slots=True, kw_only=True)
class Collector:
    """One way to collect.

    `parameters` are its click options and arguments. `probes` is called with their values and returns a context
    manager that yields the probes and closes connections at its end. It must not connect or look anything up before a
    probe is run: the script is printed on machines that reach nothing.
    `extra` is the extra of the installation that it needs, if any. `help` is the text of `--help`.
    """

    title: str
    help: str
    parameters: Sequence[click.Parameter]
    probes: Callable[..., AbstractContextManager[Iterable[Probe]]]
    extra: str = ""
    examples: Sequence[str] = field(default_factory=tuple)

    def open(self, options: Mapping[str, Any]) -> AbstractContextManager[Iterable[Probe]]:
        """Return the probes for these options."""
        return self.probes(**options)


@cache
def collector_names() -> tuple[str, ...]:
    """Return the names of all collectors, in alphabetical order."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(collectors.__path__)))


def find_collector(name: str) -> Collector:
    """Return the collector of this name."""
    collector: Collector = import_module(f"{collectors.__name__}.{name}").COLLECTOR
    return collector
