"""Shows what changed on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

from leadsman.report.console.terminal import Terminal
from leadsman.report.text.changes import change_sentence, kind_noun, not_comparable_sentences
from leadsman.words import clock, count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leadsman.model import Change, Changes, Evidence


def show_changes(changes: Changes, sides: Mapping[str, str], *, limit: int, console: Console | None = None) -> None:
    """Print the changes, the most important first, and the kinds that could not be compared."""
    terminal = Terminal(console or Console(highlight=False))
    terminal.rule()
    if "capture" in sides:
        terminal.paragraph((sides["capture"], "bold"))
    terminal.paragraph(("before: ", "dim"), sides["before"], ("   after: ", "dim"), sides["after"])
    compared = ", ".join(map(kind_noun, changes.compared)) or "nothing"
    number = count(len(changes.changes), "change changes")
    terminal.paragraph((number, "bold"), (f"  compared: {compared}", "dim"))
    terminal.blank()
    show_change_list(terminal, changes.changes[:limit])
    terminal.omitted(len(changes.changes) - limit, "more change|more changes")
    for sentence in not_comparable_sentences(changes):
        terminal.paragraph(("Not comparable: ", "bold yellow"), sentence, ".")
    terminal.blank()


def show_change_list(terminal: Terminal, changes: Sequence[Change]) -> None:
    """Print each change with the line that shows it first."""
    for number, change in enumerate(changes, start=1):
        terminal.item(f"{number}.", change_sentence(change), indent=2)
        if change.evidence:
            terminal.verbatim(location(change.evidence), indent=7, style="cyan")


def location(evidence: Evidence) -> str:
    """Return file, line and time of a line of evidence."""
    time = f"  {clock(evidence.time)}" if evidence.time else ""
    return f"{evidence.file}:{evidence.line}{time}"
