"""Keeps copies of objects on this machine, each once: the streaming query reads them as files.

An object counts when its line stands in the catalog, which is written after its copy is on disk. So after a kill an
object is either complete or not there, and is then copied again.
"""

from __future__ import annotations

import json
import os
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from leadsman.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

CATALOG = "catalog.jsonl"

PER_FOLDER = 1000
"""Copies in one folder: with a hundred thousand in one, listing it would be slow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """An object with a copy here. `source` is where it comes from, its identity; `root` the URL or capture it is below.

    `name` is its name below `root`; `bytes` and `changed_us` (microseconds since 1970) are those of the source. `size`
    is the copy's size, and `number` the name of the copy's file.
    """

    root: str
    source: str
    name: str
    bytes: int
    changed_us: int
    size: int
    number: int

    @property
    def key(self) -> tuple[str, str]:
        """What identifies the object."""
        return self.root, self.source


@dataclass(slots=True)
class ObjectCatalog:
    """The objects that are there, for a reader: `objects` reads what was added since the last call."""

    folder: Path
    _found: dict[tuple[str, str], StoredObject] = field(default_factory=dict)
    _read: int = 0

    def objects(self) -> Mapping[tuple[str, str], StoredObject]:
        """Return all objects; of one that was written anew, the last."""
        path = self.folder / CATALOG
        if not path.exists():
            return self._found
        with path.open("rb") as file:
            file.seek(self._read)
            data = file.read()
        end = data.rfind(b"\n") + 1
        for line in data[:end].splitlines():
            each = _object(line, path)
            self._found[each.key] = each
        self._read += end
        return self._found

    @property
    def bytes_read(self) -> int:
        """How much of the catalog was read: more than before where objects were added."""
        return self._read

    def path(self, copy_number: int) -> Path:
        """Return where a copy is."""
        return self.folder / str(copy_number // PER_FOLDER) / str(copy_number)


class StoredObjects:
    """The folder of copies, for its one writer. Threads may share it."""

    def __init__(self, folder: Path) -> None:
        self.catalog = ObjectCatalog(folder)
        self._lock = threading.RLock()
        folder.mkdir(parents=True, exist_ok=True)
        for part in folder.glob(".part*"):  # of a killed writer
            part.unlink()
        _cut_incomplete_line(folder / CATALOG)
        known = self.catalog.objects()
        self._next = 1 + max((each.number for each in known.values()), default=0)
        self._expired: set[int] = set()

    @property
    def part(self) -> Path:
        """The file that an object is copied to, before it is added."""
        return self.catalog.folder / ".part"

    def has(self, root: str, source: str, *, size: int, changed_us: int) -> bool:
        """Whether an object is there as it is now; one that was written anew is another one."""
        known = self.catalog.objects().get((root, source))
        return known is not None and (known.bytes, known.changed_us) == (size, changed_us)

    def add(self, copies: Sequence[tuple[StoredObject, Path]]) -> None:
        """Take over complete copies. They are on disk, and count, when this returns. Their numbers are given here."""
        with self._lock:
            numbered = [self._take_over(each, copy) for each, copy in copies]
            for folder in {self.catalog.path(each.number).parent for each in numbered}:
                _sync(folder)
            lines = "".join(json.dumps(asdict(each), separators=(",", ":")) + "\n" for each in numbered)
            with (self.catalog.folder / CATALOG).open("ab") as file:
                file.write(lines.encode())
                file.flush()
                os.fsync(file.fileno())
            _sync(self.catalog.folder)
            self.catalog.objects()

    def add_documents(self, documents: Sequence[tuple[StoredObject, bytes]]) -> int:
        """Add objects by their contents; return how many of them were not there yet."""
        with self._lock:
            known = self.catalog.objects()
            new = {each.key: (each, content) for each, content in documents if each.key not in known}
            if new:
                self.add(
                    [(each, self._part_with(content, number)) for number, (each, content) in enumerate(new.values())]
                )
            return len(new)

    def _part_with(self, content: bytes, number: int) -> Path:
        part = self.part.with_name(f".part-document-{number}")
        part.touch(mode=0o600)
        part.write_bytes(content)
        return part

    def expire(self, horizons: Mapping[str, datetime]) -> None:
        """Remove the copies of objects that were last changed before the horizon of their capture."""
        with self._lock:
            for each in self.catalog.objects().values():
                horizon = _horizon(each, horizons)
                is_old = horizon is not None and each.changed_us < horizon.timestamp() * 1e6
                if is_old and each.number not in self._expired:
                    self.catalog.path(each.number).unlink(missing_ok=True)
                    self._expired.add(each.number)

    def _take_over(self, each: StoredObject, copy: Path) -> StoredObject:
        number, self._next = self._next, self._next + 1
        target = self.catalog.path(number)
        target.parent.mkdir(exist_ok=True)
        with copy.open("rb") as file:
            os.fsync(file.fileno())
        copy.replace(target)
        fields = {**asdict(each), "number": number, "size": target.stat().st_size}
        return StoredObject(**fields)


def _horizon(each: StoredObject, horizons: Mapping[str, datetime]) -> datetime | None:
    """Return the horizon of the capture that an object is of: `root`, or a capture below it."""
    above = f"{each.root.rstrip('/')}/{each.name}"
    return next((at for path, at in horizons.items() if path == each.root or above.startswith(f"{path}/")), None)


def _cut_incomplete_line(path: Path) -> None:
    """Remove what a killed writer left of a line."""
    with suppress(FileNotFoundError), path.open("r+b") as file:
        data = file.read()
        file.truncate(data.rfind(b"\n") + 1)


def _object(line: bytes, path: Path) -> StoredObject:
    try:
        return StoredObject(**json.loads(line))
    except (ValueError, TypeError) as error:
        raise StateError(f"{path} cannot be read: {error}. Start with another --to folder.") from error


def _sync(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
