"""Settings from a file: leadsman.toml. Flags and the environment (LEADSMAN_DIAGNOSE_MASTER) come before it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from leadsman.errors import UsageError

FILE = "leadsman.toml"


def defaults(path: str | None = None) -> dict[str, Any]:
    """Return the file's tables, one a command: `[diagnose] master = "..."`. Empty where there is no file.

    Raises UsageError for a file that was named but is not there, is no TOML, or sets something before the first table.
    """
    file = Path(path or FILE)
    if not file.exists():
        if path:
            raise UsageError(f"No settings file at {path}. Write one (see: leadsman config), or leave --config out.")
        return {}
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise UsageError(f"{file} cannot be read as TOML: {error}") from error
    return {name: _options(file, name, table) for name, table in tables.items()}


def _options(file: Path, name: str, table: object) -> dict[str, Any]:
    """Return a table with its option names as the command line's parameters are called."""
    if not isinstance(table, dict):
        raise UsageError(
            f"{file}: {name!r} stands before the first table. Put it below its command, such as [diagnose]."
        )
    return {key.replace("-", "_"): _pairs(value) for key, value in table.items()}


def _pairs(value: object) -> object:
    """Let a table such as [diagnose.set] stand for repeated KEY=VALUE options."""
    return [f"{key}={each}" for key, each in _flat(value)] if isinstance(value, dict) else value


def _flat(table: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in table.items():
        found += _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else [(prefix + key, value)]
    return found
