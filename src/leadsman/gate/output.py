"""What an output format of `leadsman check program` is, and which formats there are. Nothing registers itself."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, TextIO, TypeAlias

from leadsman.gate import formats

if TYPE_CHECKING:
    from collections.abc import Callable

    from leadsman.gate.check import Report

    Write: TypeAlias = "Callable[[Report, TextIO], None]"


@cache
def format_names() -> tuple[str, ...]:
    """Return the names of all formats, in alphabetical order: a format is called as its module."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(formats.__path__)))


def find_format(name: str) -> Write:
    """Return the function that writes a report in this format."""
    write: Write = import_module(f"{formats.__name__}.{name}").write
    return write
