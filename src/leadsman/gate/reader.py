"""What a reader is, and which readers there are. A reader translates one language or format, and executes nothing."""

from __future__ import annotations

import pkgutil
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

from leadsman.gate import readers

if TYPE_CHECKING:
    from collections.abc import Callable

    from leadsman.gate.code.syntax import Node
    from leadsman.gate.documents.tree import Document

    Translation: TypeAlias = "list[Node] | list[Document]"


class UnreadableFile(Exception):
    """A file that is not what its name promises. `str()` is the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A reader of files with these suffixes, or of these names.

    `read` raises UnreadableFile. A reader of a program returns syntax, one of a configuration format documents.
    `comment` begins a comment; empty where the format has none.
    """

    language: str
    suffixes: tuple[str, ...]
    names: tuple[str, ...] = ()
    is_program: bool
    comment: str
    read: Callable[[str], Translation]


@cache
def reader_modules() -> dict[str, str]:
    """Return the module of each suffix and file name. The modules declare both without loading a parser."""
    found = {}
    for module in pkgutil.iter_modules(readers.__path__):
        reader: Reader = import_module(f"{readers.__name__}.{module.name}").READER
        found.update(dict.fromkeys((*reader.suffixes, *reader.names), module.name))
    return found


@cache
def reader_named(module: str) -> Reader:
    """Return the reader of a module."""
    reader: Reader = import_module(f"{readers.__name__}.{module}").READER
    return reader


def reader_of(file_name: str) -> Reader | None:
    """Return the reader of a file by its name; None where no reader knows it."""
    modules = reader_modules()
    lowered = file_name.lower()
    suffix = "." + lowered.rpartition(".")[2] if "." in lowered else ""
    module = modules.get(lowered) or modules.get(suffix)
    return reader_named(module) if module else None
