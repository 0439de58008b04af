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
from typing import TYPE_CHECKING

from leadsman.errors import CaptureError
from leadsman.redaction import mask
from leadsman.replacing import replaced_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
    """Return the manifest of a text. CaptureError names the path where the text is no manifest, with the reason."""
    try:
        return _manifest(_JsonObject("", json.loads(text)))
    except (ValueError, TypeError, RecursionError) as error:
        why = ValueError("it is nested too deeply") if isinstance(error, RecursionError) else error
        raise CaptureError(
            f"{path} is not a manifest of {SCHEMA}: {why}. Remove it to have the folder read as bare logs."
        ) from why


class _JsonObject:
    """An object of the document, read by key. ValueError and TypeError say in words what is wrong, and where."""

    def __init__(self, where: str, value: object) -> None:
        if not isinstance(value, dict):
            raise TypeError(f"{where or 'the document'} is not an object")
        self._where = where
        self._values: dict[str, object] = value

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def text(self, key: str, default: str | None = None) -> str:
        """Return a value as a text; `default` where there is none."""
        value = self._values.get(key, default)
        if value is None or isinstance(value, (dict, list)):
            raise ValueError(f"{self._path(key)} is {'missing' if value is None else 'not a text'}")
        return str(value)

    def time(self, key: str) -> datetime:
        """Return a time; a time without a zone is UTC."""
        text = self.text(key)
        try:
            time = datetime.fromisoformat(text)
        except ValueError:
            raise ValueError(f"{self._path(key)} is no time such as 2026-02-16T12:00:00Z: {text!r:.40}") from None
        return time if time.tzinfo else time.replace(tzinfo=UTC)

    def texts(self, key: str) -> dict[str, str]:
        """Return an object of texts; empty where there is none."""
        inside = self.inside(key)
        return {each: inside.text(each) for each in inside}

    def inside(self, key: str) -> _JsonObject:
        """Return an object; empty where there is none."""
        return _JsonObject(self._path(key), self._values.get(key, {}))

    def entries(self, key: str) -> Iterator[_JsonObject]:
        """Yield the objects of a list; none where there is no list."""
        yield from (_JsonObject(f"{self._path(key)}[{number}]", each) for number, each in enumerate(self.values(key)))

    def values(self, key: str) -> list[object]:
        """Return a list; empty where there is none."""
        value = self._values.get(key)
        if value is not None and not isinstance(value, list):
            raise ValueError(f"{self._path(key)} is not a list")
        return value or []

    def _path(self, key: str) -> str:
        return f"{self._where}.{key}" if self._where else key


def _manifest(document: _JsonObject) -> Manifest:
    if (schema := document.text("schema", "")) != SCHEMA:
        raise ValueError(f"its schema is {schema!r:.40}")
    settings = document.inside("settings")
    return Manifest(
        cluster=document.text("cluster"),
        recorded_from=document.time("recorded_from"),
        recorded_until=document.time("recorded_until"),
        host=document.text("host"),
        ran=document.text("ran"),
        versions=document.texts("versions"),
        stands_for=document.texts("stands_for"),
        settings={program: settings.texts(program) for program in settings},
        items=tuple(_item(each) for each in document.entries("items")),
        absent=tuple(MissingItem(what=each.text("what"), why=each.text("why")) for each in document.entries("absent")),
        notes=tuple(map(str, document.values("notes"))),
        schema=schema,
    )


def _item(entry: _JsonObject) -> Item:
    words = {key: entry.text(key, "") for key in ("file", "source", "command", "note")}
    return Item(at=entry.time("at"), **words)


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    raise TypeError(f"A manifest cannot hold a {type(value).__name__}.")
