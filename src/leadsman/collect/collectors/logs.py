"""Log files of this host: copied with their secrets masked, the end of large ones."""

from __future__ import annotations

import bz2
import gzip
import shlex
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import click

from leadsman.collect.collector import Collector, CouldNotBeHad, Probe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MEGABYTE = 1 << 20
OPENERS: dict[bytes, Callable[..., Any]] = {b"\x1f\x8b": gzip.open, b"BZ": bz2.open}
ZSTD = b"\x28\xb5"


@contextmanager
def probes(*, paths: tuple[Path, ...], most_mb: int) -> Iterator[Iterable[Probe]]:
    """Yield one probe a path; what lies in a folder is looked up when it is taken."""
    yield [_probe(path, most_mb) for path in paths]


def _probe(path: Path, most_mb: int) -> Probe:
    return Probe(
        file=_named("$file"),
        source="log",
        typed=f'tail -c {most_mb}M "$file"',
        each=partial(_each, path, most_mb),
        listing=("file", f"find {shlex.quote(str(path))} -type f"),
        again=False,
    )


def _each(path: Path, most_mb: int) -> Iterator[Probe]:
    if not path.exists():
        raise CouldNotBeHad(f"There is no {path}")
    for file in sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]:
        cut = file.stat().st_size > most_mb * MEGABYTE
        yield Probe(
            file=_named(file.resolve().as_posix()),
            source="log",
            typed=f"tail -c {most_mb}M {shlex.quote(str(file))}",
            take=partial(_lines, file, most_mb * MEGABYTE),
            plain=True,
            note=f"its last {most_mb} MiB" if cut else "",
        )


def _named(path: str) -> str:
    """Return where a file lies in the capture: its whole path, so that no two are one."""
    return "logs/" + path.lstrip("/").replace(" ", "_")


def _lines(file: Path, most_bytes: int) -> Iterator[str]:
    """Yield the file's last lines. A compressed file is read whole, up to so many bytes of what is inside."""
    try:
        with file.open("rb") as raw:
            magic = raw.read(2)
            if magic == ZSTD:
                raise CouldNotBeHad(f"{file} is compressed with zstd: decompress it first")
            opener = OPENERS.get(magic)
            if opener is None:
                yield from _tail(raw, most_bytes)
                return
        with opener(file, "rb") as inside:
            yield from _head(cast("IO[bytes]", inside), most_bytes)
    except (OSError, EOFError) as error:
        raise CouldNotBeHad(f"{file}: {getattr(error, 'strerror', None) or error}") from error


def _tail(raw: IO[bytes], most_bytes: int) -> Iterator[str]:
    size = raw.seek(0, 2)
    raw.seek(max(0, size - most_bytes))
    if size > most_bytes:
        raw.readline()  # the rest of a line that was cut
    left = size - raw.tell()  # a log grows while it is read: this much and no more
    for line in raw:
        left -= len(line)
        if left < 0:
            return
        yield _text(line)


def _head(inside: IO[bytes], most_bytes: int) -> Iterator[str]:
    for line in inside:
        most_bytes -= len(line)
        if most_bytes < 0:
            raise CouldNotBeHad("The rest is left out: the file is larger than --most-mb when decompressed")
        yield _text(line)


def _text(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")


def _parameters() -> tuple[click.Parameter, ...]:
    readable: Any = click.Path(path_type=Path)
    return (
        click.Argument(["paths"], nargs=-1, required=True, type=readable, metavar="PATH..."),
        click.Option(
            ["--most-mb"],
            type=click.IntRange(min=1),
            default=256,
            show_default=True,
            help="Of a larger file, only its end, in MiB.",
        ),
    )


COLLECTOR = Collector(
    title="Log files of this host, their secrets masked",
    help=(
        "Copy log files, or all files of folders, into the capture. Secrets are masked; compressed files (gzip, bzip2) "
        "are decompressed for that. Give the logs of all workers, also of those that did not fail."
    ),
    parameters=_parameters(),
    probes=probes,
    examples=("leadsman collect logs /var/log/kafka /srv/app/worker.log --out incident",),
)
