"""The capture: a folder of raw telemetry with a manifest that says what it is. Diagnosis reads captures, nothing else.

manifest.json                 what was recorded, when, by which commands, and what could not be had
clients/<worker>.log          one application's log, with its Kafka client's lines in it
brokers/<id>/server.log       and controller.log, state-change.log, server.properties
kafka/topics.txt              `kafka-topics --describe`
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from leadsman.errors import CaptureError
from leadsman.redaction import mask

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA = "leadsman.capture/1"
MANIFEST = "manifest.json"


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
class Absent:
    """Something that was sought and could not be had, and why: no data is not good news."""

    what: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a capture is.

    `recorded_from` and `recorded_until` span the recording. `ran` is the call that made it. `stands_for` says which
    short values stand for which real ones, by setting. `settings` are what each kind of program was given.
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
    absent: tuple[Absent, ...] = ()
    notes: tuple[str, ...] = ()
    schema: str = SCHEMA


def write_file(folder: Path, file: str, text: str) -> None:
    """Write one file of a capture, secrets masked. `file` is relative, with slashes."""
    path = folder / PurePosixPath(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(mask(text), encoding="utf-8", errors="surrogateescape")


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest, last: a folder with one is a whole capture."""
    text = json.dumps(asdict(manifest), indent=2, ensure_ascii=False, default=_plain) + "\n"
    write_file(folder, MANIFEST, text)


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest of a capture; None for a bare folder of logs. CaptureError if it is something else."""
    path = folder / MANIFEST
    if not path.is_file():
        return None
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise CaptureError(f"{path} is not a manifest of {SCHEMA}: {error}. Remove it.") from error
    return parsed_manifest(text, path)


def parsed_manifest(text: str, path: Path | str) -> Manifest:
    """Return the manifest that a text is. CaptureError, naming its path, if it is something else."""
    try:
        return _manifest(json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise CaptureError(
            f"{path} is not a manifest of {SCHEMA}: {type(error).__name__}: {error}. "
            "Remove it to have the folder read as bare logs."
        ) from error


def _manifest(told: dict[str, object]) -> Manifest:
    if told.get("schema") != SCHEMA:
        raise ValueError(f"its schema is {told.get('schema')!r}")
    known = {key: value for key, value in told.items() if key in Manifest.__slots__}
    known |= {key: _time(told[key]) for key in ("recorded_from", "recorded_until")}
    known["items"] = tuple(_item(item) for item in _list(told.get("items")))
    known["absent"] = tuple(Absent(what=str(a["what"]), why=str(a["why"])) for a in _list(told.get("absent")))
    known["notes"] = tuple(str(note) for note in _list(told.get("notes")))
    return Manifest(**known)  # type: ignore[arg-type]  # JSON has no types; whoever reads a field meets its value


def _item(told: Mapping[str, object]) -> Item:
    words = {key: str(told.get(key, "")) for key in ("file", "source", "command", "note")}
    return Item(at=_time(told["at"]), **words)


def _list(value: object) -> list[dict[str, object]]:
    return value if isinstance(value, list) else []


def _time(text: object) -> datetime:
    """Read a time; one without a zone is UTC, as the writer's are."""
    time = datetime.fromisoformat(str(text))
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    raise TypeError(f"A manifest holds no {type(value).__name__}.")
