"""What clients and brokers do unless they are told otherwise, by version; from `defaults.json`, which a tool makes.

The tool is `python -m leadsman.lab.defaults`: it asks the programs themselves. Nobody edits the file.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("defaults.json")
"""What the tool writes. It is read as a resource: on an executor the package is a zip."""


@cache
def table() -> dict[str, Any]:
    """Return the file: by program its versions, and by setting where its default changed."""
    read: dict[str, Any] = json.loads(resources.files("leadsman").joinpath(FILE.name).read_text(encoding="utf-8"))
    return read


def programs() -> tuple[str, ...]:
    """Return whose defaults are known: broker, consumer, producer, admin, streams, librdkafka, Python clients."""
    return tuple(table())


def default(program: str, setting: str, version: str = "") -> str | None:
    """Return a default; None where that version has no such setting, or gives it none.

    A version that was not asked counts as the one before it, one that is older than all as the oldest, an empty one
    as the newest. KeyError for a program that is not in the table.
    """
    versions = table()[program]["versions"]
    asked = max(order(version), order(versions[0])) if version else order(versions[-1])
    value: str | None = None
    for at, *now in changes(program, setting):
        if order(str(at)) <= asked:
            value = now[0] if now else None
    return value


def changes(program: str, setting: str) -> list[list[str | None]]:
    """Return the versions from which on a setting has another default, with that default; without one where it went."""
    found: list[list[str | None]] = table()[program]["settings"].get(setting, [])
    return found


def number(program: str, setting: str, version: str = "") -> float:
    """Return a default that is a number. ValueError where it is none: whoever asks takes it for granted."""
    found = default(program, setting, version)
    if found is None:
        raise ValueError(f"{program} {version} has no default of {setting}")
    return float(found)


def seconds(program: str, setting: str, version: str = "") -> float:
    """Return the default of a setting in milliseconds, in seconds."""
    return number(program, setting, version) / 1000


def since(program: str, setting: str) -> str:
    """Return the release in which a setting came, such as 2.8; empty where the oldest one asked had it, or none has."""
    found = changes(program, setting)
    return release(str(found[0][0])) if found and found[0][0] != table()[program]["versions"][0] else ""


def knows(program: str, setting: str) -> bool:
    """Tell whether any version of a program has a setting of this name."""
    return setting in table()[program]["settings"]


def is_default(setting: str, value: str) -> bool:
    """Tell whether any version of any program does so unless it is told otherwise."""
    return any(value in now for program in programs() for _, *now in changes(program, setting))


def release(version: str) -> str:
    """Return the release that a version is of: 2.8 for 2.8.2. Within one, defaults stay as they are."""
    return ".".join(version.split(".")[:2])


def order(version: str) -> tuple[int, ...]:
    """Return what releases are compared by."""
    return tuple(int(part) for part in re.findall(r"\d+", release(version)))
