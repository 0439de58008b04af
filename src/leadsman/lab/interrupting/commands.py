"""The commands that are interrupted, each as a user would run it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leadsman.catalogue import every_mode

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Command:
    """One command: its words, which may name `{out}`, a path of the run's own. `weight`: how often beside others.

    `endless` commands run until they are interrupted; the others have their usual exit `codes`.
    """

    name: str
    words: tuple[str, ...]
    weight: int = 1
    endless: bool = False
    codes: tuple[int, ...] = (0,)


def every_command() -> list[Command]:
    """Return the commands. Those without a weight take a second; the others start a JVM, the last two brokers."""
    broken = {mode.name: next(f for f in mode.recordings() if f.name.startswith("broken")) for mode in every_mode()}
    idle, leaderless = str(broken["idle_disconnect"]), str(broken["leaderless_partition"])
    found = (0, 1)
    return [
        Command("diagnose", ("diagnose", idle), weight=4, codes=found),
        Command("diagnose --out", ("diagnose", idle, "--out", "{out}", "--table", "parquet"), weight=8, codes=found),
        Command("diagnose, two captures", ("diagnose", idle, leaderless, "--format", "json"), weight=4, codes=found),
        Command("changes", ("changes", idle, leaderless), weight=3, codes=found),
        Command(
            "watch --replay",
            ("watch", "--replay", idle, "--to", "{out}", "--until-end", "--format", "json"),
            weight=4,
            codes=found,
        ),
        Command("watch", ("watch", idle, "--to", "{out}"), weight=4, endless=True, codes=found),
        Command("check program", ("check", "program", str(broken["producer_id_leak"])), weight=2, codes=(0, 1)),
        Command("alerts", ("alerts", "--out", "{out}"), weight=2),
        Command("dashboards", ("dashboards", "--out", "{out}"), weight=2),
        Command("collect host", ("collect", "host", "--out", "{out}"), weight=2, codes=(0, 3)),
        Command("collect logs", ("collect", "logs", idle, "--out", "{out}"), weight=2, codes=(0, 3)),
        Command("collect kafka", ("collect", "kafka", "--bootstrap", "127.0.0.1:1", "--out", "{out}"), codes=(2, 3)),
        Command("explain", ("explain", "stale_neighbour")),
        Command("config", ("config",)),
        Command("doctor", ("doctor",), codes=(0, 1)),
        Command("reproduce", ("reproduce", "idle_disconnect", "--out", "{out}"), weight=3, codes=found),
        Command("demo", ("demo", "--out", "{out}"), weight=3, codes=found),
    ]


def incomplete_files(out: Path) -> list[str]:
    """Return what is half-written below a path: parts that were never renamed, and documents that do not end."""
    if not out.exists():
        return []
    files = [path for path in ([out] if out.is_file() else sorted(out.rglob("*"))) if path.is_file()]
    return [str(path.relative_to(out.parent)) for path in files if _is_part(path) or _is_cut(path)]


def _is_part(path: Path) -> bool:
    """Whether a file is a part that leadsman did not complete. Parts of Delta and of Spark do not count."""
    return path.suffix in {".part", ".tmp", ".partial"} and not WRITERS_OWN_FOLDERS.intersection(path.parts)


WRITERS_OWN_FOLDERS = frozenset({"_delta_log", "checkpoint"})
"""Folders in which Delta and Spark leave parts, which their readers ignore."""


def _is_cut(path: Path) -> bool:
    if path.suffix == ".html":
        return not path.read_text(errors="replace").rstrip().endswith("</html>")
    return path.suffix == ".json" and not (_is_json(path.read_bytes()) or all(map(_is_json, path.open("rb"))))


def _is_json(text: bytes) -> bool:
    """Whether this is JSON. In Delta's log, each line of a file is."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
