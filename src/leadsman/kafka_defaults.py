"""Default settings of Kafka clients and brokers by version, from `kafka_defaults.json`.

`python -m leadsman.lab.defaults` writes the file from the programs themselves. The file is never edited by hand.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("kafka_defaults.json")
"""The file that the tool writes. It is read as a resource: on an executor the package is a zip."""


@cache
def default_table() -> dict[str, Any]:
    """Return the file's content: by program its versions, and by setting the versions that changed the default."""
    read: dict[str, Any] = json.loads(resources.files("leadsman").joinpath(FILE.name).read_text(encoding="utf-8"))
    return read


def programs() -> tuple[str, ...]:
    """Return the programs: broker, consumer, producer, admin, streams, librdkafka, Python clients."""
    return tuple(default_table())


def default(program: str, setting: str, version: str = "") -> str | None:
    """Return a default; None where that version has no such setting, or the setting has no default.

    A version that is not in the table counts as the one before it, a version older than all as the oldest, an empty
    version as the newest. KeyError for a program that is not in the table.
    """
    versions = default_table()[program]["versions"]
    release_limit = max(release_key(version), release_key(versions[0])) if version else release_key(versions[-1])
    value: str | None = None
    for at, *now in default_history(program, setting):
        if release_key(str(at)) <= release_limit:
            value = now[0] if now else None
    return value


def default_history(program: str, setting: str) -> list[list[str | None]]:
    """Return the versions that changed a setting's default, with the new default; with none where it was removed."""
    history: list[list[str | None]] = default_table()[program]["settings"].get(setting, [])
    return history


def number(program: str, setting: str, version: str = "") -> float:
    """Return a default that is a number. ValueError where the setting has no default."""
    value = default(program, setting, version)
    if value is None:
        raise ValueError(f"{program} {version} has no default of {setting}")
    return float(value)


def seconds(program: str, setting: str, version: str = "") -> float:
    """Return the default of a setting in milliseconds, in seconds."""
    return number(program, setting, version) / 1000


def first_release(program: str, setting: str) -> str:
    """Return the release that added a setting, such as 2.8; empty where the oldest version has it, or none has it."""
    history = default_history(program, setting)
    return release(str(history[0][0])) if history and history[0][0] != default_table()[program]["versions"][0] else ""


def has_setting(program: str, setting: str) -> bool:
    """Whether any version of a program has a setting of this name."""
    return setting in default_table()[program]["settings"]


def is_default(setting: str, value: str) -> bool:
    """Whether this value is the default of the setting in any version of any program."""
    return any(value in now for program in programs() for _, *now in default_history(program, setting))


def release(version: str) -> str:
    """Return the release of a version: 2.8 for 2.8.2. Defaults do not change within a release."""
    return ".".join(version.split(".")[:2])


def release_key(version: str) -> tuple[int, ...]:
    """Return a key for comparing releases."""
    return tuple(int(part) for part in re.findall(r"\d+", release(version)))
