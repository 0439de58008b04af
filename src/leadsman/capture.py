"""The capture: a folder of raw telemetry with a manifest that says what it is. Diagnosis reads captures, nothing else.

manifest.json                 what was recorded, when, by which commands, and what was not collected
clients/<worker>.log          one application's log, with its Kafka client's lines in it
brokers/<id>/server.log       and controller.log, state-change.log, server.properties
kafka/topics.txt              `kafka-topics --describe`
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from leadsman.errors import CaptureError
from leadsman.redaction import mask
from leadsman.replacing import replaced_file

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA = "leadsman.capture/1"
MANIFEST = "manifest.json"

LONGEST_MANIFEST = 10_000_000
"""Bytes: one of 30,000 files has 6 million."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One file of a capture: where it lies, what it is, and the command or path that it came from.

    `source` is client_log, broker_log, controller_log, state_change_log, broker_settings, topics and so on. `note`
    says what was done to it, if anything.
    """

    file: str
    source: str
    command: str
    at: datetime
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingItem:
    """Something that was not collected, and why: no data is not good news."""

    what: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a capture is.

    `recorded_from` and `recorded_until` span the recording. `ran` is the call that recorded it. `stands_for` maps, by
    setting, shortened values to the real ones. `settings` are the settings of each kind of program.
    """

    cluster: str
    recorded_from: datetime
    recorded_until: datetime
    host: str
    ran: str
    versions: Mapping[str, str] = field(default_factory=dict)
    stands_for: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    items: tuple[Item, ...] = ()
    absent: tuple[MissingItem, ...] = ()
    notes: tuple[str, ...] = ()
    schema: str = SCHEMA


def write_file(folder: Path, file: str, text: str) -> None:
    """Write one file of a capture, secrets masked. `file` is relative, with slashes."""
    path = folder / PurePosixPath(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(mask(text), encoding="utf-8", errors="surrogateescape")


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest, last: a folder with a manifest is a complete capture."""
    text = json.dumps(asdict(manifest), indent=2, ensure_ascii=False, default=_plain) + "\n"
    with replaced_file(folder / MANIFEST, errors="surrogateescape") as file:
        file.write(mask(text))


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest of a capture; None for a folder without one. CaptureError where the file is no manifest."""
    path = folder / MANIFEST
    if not path.is_file():
        return None
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(LONGEST_MANIFEST)
    except UnicodeDecodeError as error:
        raise CaptureError(f"{path} is not a manifest of {SCHEMA}: {error}. Remove it.") from error
    return parse_manifest(text, path)


def parse_manifest(text: str, path: Path | str) -> Manifest:
    """Return the manifest of a text. CaptureError names the path where the text is no manifest."""
    try:
        return _manifest(json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise CaptureError(
            f"{path} is not a manifest of {SCHEMA}: {type(error).__name__}: {error}. "
            "Remove it to have the folder read as bare logs."
        ) from error


def _manifest(document: dict[str, object]) -> Manifest:
    if document.get("schema") != SCHEMA:
        raise ValueError(f"its schema is {document.get('schema')!r}")
    known: dict[str, Any] = {key: str(document[key]) for key in ("schema", "cluster", "host", "ran")}
    known |= {key: _time(document[key]) for key in ("recorded_from", "recorded_until")}
    known |= {key: _texts(document.get(key, {})) for key in ("versions", "stands_for")}
    settings = _members(document.get("settings", {}))
    known["settings"] = {program: _texts(values) for program, values in settings.items()}
    known["items"] = tuple(_item(item) for item in _list(document.get("items")))
    known["absent"] = tuple(MissingItem(what=str(a["what"]), why=str(a["why"])) for a in _list(document.get("absent")))
    known["notes"] = tuple(str(note) for note in _list(document.get("notes")))
    return Manifest(**known)


def _texts(value: object) -> dict[str, str]:
    return {key: str(each) for key, each in _members(value).items()}


def _members(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r:.40} is not an object")
    return value


def _item(entry: Mapping[str, object]) -> Item:
    words = {key: str(entry.get(key, "")) for key in ("file", "source", "command", "note")}
    return Item(at=_time(entry["at"]), **words)


def _list(value: object) -> list[dict[str, object]]:
    if value is not None and not isinstance(value, list):
        raise TypeError(f"{value!r:.40} is not a list")
    return value or []


def _time(text: object) -> datetime:
    """Return a time; a time without a zone is UTC."""
    time = datetime.fromisoformat(str(text))
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    raise TypeError(f"A manifest cannot hold a {type(value).__name__}.")
