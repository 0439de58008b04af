"""Says what is going on, on standard error, and only to a person who watches."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def progress(first: str) -> Iterator[Callable[[str], None]]:
    """Show a line that says what is being done; call the result to change it. Silent where nobody watches."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status(f"{first} ...") as status:
        yield lambda text: status.update(f"{text} ...")
