"""Log files of this host, copied with secrets masked; of a large file only the end."""

from __future__ import annotations

import bz2
import gzip
import shlex
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import click

from leadsman.collect.collector import Collector, ItemListing, NotCollected, Probe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MEGABYTE = 1 << 20
OPENERS: dict[bytes, Callable[..., Any]] = {b"\x1f\x8b": gzip.open, b"BZ": bz2.open}
ZSTD = b"\x28\xb5"

NOT_COLLECTED = "logs/not-collected.txt"
"""The place of the reason where a path has no log. A log has the name in the capture that it has on the host."""


@contextmanager
def probes(*, paths: tuple[Path, ...], max_mb: int) -> Iterator[Iterable[Probe]]:
    """Yield one probe for each path; a folder is listed only when its probe runs."""
    yield [_probe(path, max_mb) for path in paths]


def _probe(path: Path, max_mb: int) -> Probe:
    listing = f"find {shlex.quote(str(path))} -type f"
    return Probe(
        file=NOT_COLLECTED,
        source="log",
        shell_command=listing,
        expand=partial(_expand, path, max_mb),
        listing=ItemListing("file", listing, _file_in_capture("$file"), f'tail -c {max_mb}M "$file"'),
        title=str(path),
        in_series=False,
    )


def _expand(path: Path, max_mb: int) -> Iterator[Probe]:
    for file in _files(path):
        cut = file.stat().st_size > max_mb * MEGABYTE
        yield Probe(
            file=_file_in_capture(file.resolve().as_posix()),
            source="log",
            shell_command=f"tail -c {max_mb}M {shlex.quote(str(file))}",
            read=partial(_lines, file, max_mb * MEGABYTE),
            has_own_times=True,
            note=f"the last {max_mb} MiB of the file" if cut else "",
        )


def _files(path: Path) -> list[Path]:
    """Return the file, or the files of a folder. NotCollected where there is none, or none that can be listed."""
    try:
        if not path.exists():
            raise NotCollected(f"{path} does not exist")
        files = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
    except OSError as error:
        raise NotCollected(f"{path}: {error.strerror or error}") from error
    if not files or not all(each.is_file() for each in files):
        raise NotCollected(f"{path} {'has no files' if path.is_dir() else 'is not a regular file'}")
    return files


def _file_in_capture(path: str) -> str:
    """Return a file's place in the capture: its whole path, so that two files never share a place."""
    return "logs/" + path.lstrip("/").replace(" ", "_")


def _lines(file: Path, max_bytes: int) -> Iterator[str]:
    """Yield the file's last lines. Of a compressed file the first `max_bytes` decompressed bytes are read."""
    try:
        with file.open("rb") as raw:
            magic = raw.read(2)
            if magic == ZSTD:
                raise NotCollected(f"{file} is compressed with zstd: decompress it first")
            opener = OPENERS.get(magic)
            if opener is None:
                yield from _last_lines(raw, max_bytes)
                return
        with opener(file, "rb") as inside:
            yield from _first_lines(cast("IO[bytes]", inside), max_bytes)
    except (OSError, EOFError) as error:
        raise NotCollected(f"{file}: {getattr(error, 'strerror', None) or error}") from error


def _last_lines(raw: IO[bytes], max_bytes: int) -> Iterator[str]:
    size = raw.seek(0, 2)
    raw.seek(max(0, size - max_bytes))
    if size > max_bytes:
        raw.readline()  # the line that the offset cuts
    left = size - raw.tell()  # a log grows while it is read: its size at the start is the limit
    for line in raw:
        left -= len(line)
        if left < 0:
            return
        yield _text(line)


def _first_lines(inside: IO[bytes], max_bytes: int) -> Iterator[str]:
    for line in inside:
        max_bytes -= len(line)
        if max_bytes < 0:
            raise NotCollected("The file is cut: it is larger than --max-mb when decompressed")
        yield _text(line)


def _text(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")


def _parameters() -> tuple[click.Parameter, ...]:
    readable: Any = click.Path(path_type=Path)
    return (
        click.Argument(["paths"], nargs=-1, required=True, type=readable, metavar="PATH..."),
        click.Option(
            ["--max-mb"],
            type=click.IntRange(min=1),
            default=256,
            show_default=True,
            help="Of a larger file, copy only so many MiB of its end.",
        ),
    )


COLLECTOR = Collector(
    title="Log files of this host, their secrets masked",
    help=(
        "Copy log files, or all files of folders, into the capture. Secrets are masked; compressed files (gzip, bzip2) "
        "are decompressed for that. Collect the logs of all workers, also of those without failures."
    ),
    parameters=_parameters(),
    probes=probes,
    examples=("leadsman collect logs /var/log/kafka /srv/app/worker.log --out incident",),
)
