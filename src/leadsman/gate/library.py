"""What a client library looks like in programs, and which libraries there are. Found on disk, registered nowhere."""

from __future__ import annotations

import pkgutil
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from leadsman.gate import libraries

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """A client library, as data.

    `modules`: prefixes of what a program imports. `constructors`: classes and functions that make a client, and its
    kind. `setting_classes`: classes whose constants are names of settings, and the kind of client. `defaults`: the
    program of `kafka_defaults` by kind. `names`: Kafka's name of a setting where the library has another.
    `are_keywords`: settings are keyword arguments with underscores. `distributions`: its names in lock files and
    manifests. `sends`, `flushes`: methods that give a record to a producer, and that wait until all are sent.
    `send_waits`: a send returns when the record is sent. `factories`: classes whose methods make clients, with their
    kinds. `options`: functions whose calls are settings. `closes_idle`: without a setting, its clients close idle
    connections in time. `oldest_idempotent`: the first version with idempotence.
    """

    name: str
    languages: tuple[str, ...]
    modules: tuple[str, ...]
    constructors: Mapping[str, str]
    setting_classes: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    are_keywords: bool = False
    distributions: tuple[str, ...] = ()
    sends: frozenset[str] = frozenset()
    flushes: frozenset[str] = frozenset()
    send_waits: bool = False
    closes_idle: bool = False
    factories: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    oldest_idempotent: str = ""

    def imports(self, module: str) -> bool:
        """Whether a module is one of the library's."""
        return any(module == each or module.startswith((each + ".", each + "/")) for each in self.modules)


@cache
def every_library() -> tuple[Library, ...]:
    """Return all libraries, in alphabetical order of their modules."""
    names = sorted(module.name for module in pkgutil.iter_modules(libraries.__path__))
    return tuple(import_module(f"{libraries.__name__}.{name}").LIBRARY for name in names)


@cache
def libraries_of(language: str) -> tuple[Library, ...]:
    """Return the libraries that programs of a language use."""
    return tuple(each for each in every_library() if language in each.languages)
