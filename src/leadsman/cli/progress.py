"""Progress on standard error."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from leadsman.report.text.escaping import escape_control_characters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def progress(first: str) -> Iterator[Callable[[str], None]]:
    """Show the current step in one line; call the result to show the next. Silent without a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status(f"{first} ...") as status:
        yield lambda text: status.update(f"{_visible(text)} ...")


@contextmanager
def steps() -> Iterator[Callable[[str], None]]:
    """Print each step on its own line, with the seconds since the start: for work that takes a minute."""
    console = Console(stderr=True, highlight=False)
    began = time.monotonic()
    yield lambda text: console.print(f"[dim]{time.monotonic() - began:5.1f} s[/dim]  {_visible(text)}")


def _visible(text: str) -> str:
    """Return a text that neither the terminal nor rich acts on: it can hold the name of any file."""
    return escape(escape_control_characters(text))
