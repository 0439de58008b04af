"""What there is to read below a path, and which files belong to one another."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from leadsman.capture import LONGEST_MANIFEST, MANIFEST, SCHEMA, read_manifest
from leadsman.errors import CaptureError
from leadsman.model import NotUnderstood

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from leadsman.capture import Manifest

WHY_LENGTH = 200
"""Characters of the reason why a manifest cannot be read: it may quote the manifest."""

ROTATED = re.compile(
    r"(?:[._-]\d{4}([-_.]?)\d\d\1\d\d(?:[-T_.]?\d\d(?:[-:_.]?\d\d)*)?(?:Z|[+-]\d{4})?(?:[._-]\d{1,4})?|\.\d{1,4})$"
)
"""`app.log.1`, `app.log-20210216`, `app.2021-02-16.3.log`, `app-2021-02-16T14-00-00Z.log`: what a rotation appends."""

ADDRESS = re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}$")
"""`worker-10.0.3.17.log`: the last number is a host's, and counts no rotations."""

COMPRESSED = (".gz", ".zst", ".bz2")

NUMBERED = re.compile(r"(?:part-)?\d{4,}(?:\.\w+)*$")
"""`000000.gz` in a CloudWatch export, `part-00000`: a file without a name of its own belongs to its folder."""

EXPORTED = re.compile(r"(?:part-)?0\d{5}(?:\.\w+)*$")
"""The same where the folder itself was given. Other numbers there may be those of processes."""


@dataclass(frozen=True, slots=True)
class File:
    """One file: where it is, what the report calls it, its size on disk in bytes, and when it was last changed."""

    path: str
    name: str
    bytes: int
    changed: datetime


@dataclass(frozen=True, slots=True)
class Stream:
    """The files that one writer wrote, rotated or not. Read by one task, in the order of their first times."""

    capture: str
    name: str
    files: tuple[File, ...]

    @property
    def bytes(self) -> int:
        """Bytes on disk."""
        return sum(file.bytes for file in self.files)

    @property
    def is_remote(self) -> bool:
        """Whether Spark has to open its files: those of a URL that were not copied to this machine.

        Hadoop writes some URLs with one slash, such as file:/var/log and dbfs:/logs; a copy's path is absolute.
        """
        return is_url(self.capture) and not all(Path(file.path).is_absolute() for file in self.files)


@dataclass(frozen=True, slots=True)
class DuplicateFile:
    """A file that holds what another one holds, and is not read."""

    file: str
    of: str


@dataclass(frozen=True, slots=True)
class CaptureFiles:
    """What a path holds. `skipped` are files that are not read, each with the reason.

    `manifest` is None for bare logs, and where it cannot be read.
    """

    streams: tuple[Stream, ...]
    skipped: tuple[NotUnderstood, ...]
    copies: tuple[DuplicateFile, ...] = ()
    manifest: Manifest | None = None


def is_url(path: str) -> bool:
    """Say whether a path is a URL for Spark to open."""
    return "://" in path


def captures_below(path: str) -> list[str]:
    """Return the whole captures that lie below a folder which is none itself: one a cluster, or one a day."""
    if not Path(path).is_dir():
        return []
    found: list[str] = []
    for folder, folders, names in os.walk(path):
        folders.sort()
        if MANIFEST in names and is_capture(Path(folder)):
            found.append(folder)
            folders.clear()
    return [] if found == [path] else found


def is_capture(folder: Path) -> bool:
    """Whether a folder holds a capture's manifest; other programs call theirs the same."""
    with suppress(OSError), (folder / MANIFEST).open("rb") as file:
        return SCHEMA.encode() in file.read(LONGEST_MANIFEST)
    return False


def list_files(path: str, without: Sequence[str] = ()) -> CaptureFiles:
    """List the files at `path`, a file or a folder; none of the folders `without`.

    Names are taken as they are: no character is a wildcard. Paths of files are absolute: executors work in folders of
    their own.
    """
    root = Path(path)
    if not root.exists():
        raise CaptureError(
            f"No capture at {path}: there is no such file or folder. Give a capture, a folder of logs, or a log file."
        )
    if root.is_dir() and not os.access(root, os.R_OK | os.X_OK):
        raise CaptureError(f"The folder {path} cannot be read: permission denied. Run as its owner, or copy it.")
    listed = list(_walk(root.absolute(), frozenset(Path(each).absolute() for each in without)))
    files = [item for item in listed if isinstance(item, File)]
    skipped = [item for item in listed if isinstance(item, NotUnderstood)]
    manifest = _readable_manifest(root)
    if isinstance(manifest, NotUnderstood):
        skipped, manifest = [*skipped, manifest], None
    return CaptureFiles(tuple(group_into_streams(utf_8_name(path), files)), tuple(skipped), manifest=manifest)


def _readable_manifest(root: Path) -> Manifest | NotUnderstood | None:
    """Return a capture's manifest, or why it cannot be read. None for a file, and for a folder of bare logs."""
    if not (root / MANIFEST).is_file():
        return None
    if not is_capture(root):
        return FOREIGN_MANIFEST
    try:
        return read_manifest(root)
    except (CaptureError, OSError) as error:
        return unreadable_manifest(MANIFEST, error)


FOREIGN_MANIFEST = NotUnderstood(
    MANIFEST, f"does not name {SCHEMA} (it was cut, or is another program's), so the folder is read as bare logs"
)


def unreadable_manifest(file: str, error: Exception) -> NotUnderstood:
    """Return the entry for a manifest that cannot be read: its folder is read as bare logs."""
    why = str(error.__cause__ or error)
    return NotUnderstood(file, f"not a manifest of {SCHEMA}, so the folder is read as bare logs: {why[:WHY_LENGTH]}")


def stream_name(name: str) -> str:
    """Return the name of the stream that a file belongs to, by the file's path below its capture."""
    bare = name
    for suffix in COMPRESSED:
        bare = bare.removesuffix(suffix)
    folder, _, base = bare.rpartition("/")
    if folder and NUMBERED.fullmatch(base):
        return folder
    if EXPORTED.fullmatch(base):
        return re.sub(r"\d", "0", base)
    stem, dot, extension = base.rpartition(".")
    whole = _unrotated(stem) + dot + extension if dot and not extension.isdigit() else base
    return f"{folder}/{_unrotated(whole)}" if folder else _unrotated(whole)


def _unrotated(name: str) -> str:
    return name if ADDRESS.search(name) else ROTATED.sub("", name)


TASK_BYTES = 256 << 20
"""What a task reads where there is more than two for each core: a second or two of work, far above its start, and
little to do again where a machine is lost."""


def task_count(streams: Sequence[Stream], cores: int) -> int:
    """Return how many tasks are to read the streams, by their bytes. A stream is read by one task, however large.

    So many for each core that no core is idle while others read the last ones.
    """
    tasks = max(1, cores * 2, sum(stream.bytes for stream in streams) // TASK_BYTES)
    return -(-tasks // max(1, cores)) * max(1, cores)


STREAM_BYTES = 48 << 10
"""What a stream costs besides its bytes: to open and recognise a file takes 0.5 ms, as 48 KiB of a large log do."""


class Readable(Protocol):
    """What one task reads at once: a stream, or a split of one."""

    @property
    def capture(self) -> str:
        """The capture that it is of."""

    @property
    def name(self) -> str:
        """What distinguishes it from the others of its capture."""

    @property
    def bytes(self) -> int:
        """Bytes on disk."""


AnyReadable = TypeVar("AnyReadable", bound=Readable)


def balance_streams(streams: Sequence[AnyReadable], parts: int) -> list[list[AnyReadable]]:
    """Share the streams out among at most `parts` tasks, largest first, so that all finish together."""
    shares: list[list[AnyReadable]] = [[] for _ in range(min(parts, len(streams)))]
    loads = [0] * len(shares)
    for stream in sorted(streams, key=lambda stream: (-stream.bytes, stream.capture, stream.name)):
        lightest = loads.index(min(loads))
        shares[lightest].append(stream)
        loads[lightest] += stream.bytes + STREAM_BYTES
    return shares


def group_into_streams(capture: str, files: Iterable[File]) -> Iterator[Stream]:
    """Yield the streams that the files of a capture are of."""
    together: dict[str, list[File]] = {}
    for file in files:
        together.setdefault(stream_name(file.name), []).append(file)
    for name, members in together.items():
        yield Stream(capture, name, tuple(members))


def utf_8_name(name: str) -> str:
    """Return the name of a file or capture for all tables and reports: bytes that are not UTF-8 are spelled out."""
    return name if name.isascii() else os.fsencode(name).decode("utf-8", "backslashreplace")


def _walk(root: Path, without: frozenset[Path]) -> Iterator[File | NotUnderstood]:
    if not root.is_dir():
        yield _inspect(str(root.resolve()), root.name, root.parent)  # a link that somebody names is meant
        return
    unreadable: list[OSError] = []
    top = str(root)
    start = f"{top.rstrip('/')}/"  # a `Path` for each file would cost more than opening it
    for folder, folders, names in os.walk(root, onerror=unreadable.append):
        folders[:] = sorted(each for each in folders if not without or Path(folder, each) not in without)
        below = folder[len(top) :].lstrip("/")
        for name in sorted(names):
            relative = f"{below}/{name}" if below else name
            if relative != MANIFEST:
                yield _inspect(start + relative, relative, root)
    for error in unreadable:
        yield NotUnderstood(os.path.relpath(error.filename, root), f"folder cannot be read: {error.strerror}")


def _why_not_read(error: OSError | RuntimeError) -> str:
    """Return the reason for the report. `Path.resolve` raises RuntimeError for a loop of links."""
    return f"cannot be read: {error.strerror}" if isinstance(error, OSError) else "symbolic link that leads to itself"


def _inspect(path: str, name: str, root: Path) -> File | NotUnderstood:
    """Return the file, or why it is not read."""
    name = utf_8_name(name)
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            return NotUnderstood(name, _why_no_link(Path(path), root))
        if not stat.S_ISREG(status.st_mode):
            return NotUnderstood(name, "not a regular file")
        if not os.access(path, os.R_OK):
            return NotUnderstood(name, "cannot be read: permission denied")
    except (OSError, RuntimeError) as error:
        return NotUnderstood(name, _why_not_read(error))
    return File(path, name, status.st_size, datetime.fromtimestamp(status.st_mtime, UTC))


def _why_no_link(link: Path, root: Path) -> str:
    """Return why a symbolic link is not read."""
    if not link.resolve().is_relative_to(root.resolve()):
        return "symbolic link out of the folder: not followed"
    if not stat.S_ISREG(link.stat().st_mode):
        return "not a regular file"
    return "symbolic link to a file that is read under its own name"
