"""Runs what is measured in processes of its own, by turns: what else the machine does falls on all alike."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from bench.forms import peers
from bench.jobs import ROOT

if TYPE_CHECKING:
    from bench.forms.form import Form

LONGEST_S = 1_800
SHORTEST_S = 1e-3
RAISED = re.compile(r"[\w.]+(?:Error|Exception|NotWhole)\b")
Report = Callable[[str], None]


class NotMeasured(Exception):
    """A process ended with an error, or took too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormResult:
    """A row's figures: medians over the rounds; `ratio` is the median of each round's own."""

    form: Form
    mb: float
    mb_s: float
    events: int
    refused: tuple[str, ...]
    peak_mb: float
    peer_mb_s: float
    ratio: float
    also_mb_s: Mapping[str, float]

    @property
    def is_read(self) -> bool:
        """Whether anything was found in it, and all of it was understood."""
        return self.events > 0 and not self.refused

    @property
    def reached(self) -> float:
        """How much of the goal is reached; nothing by what is not read, however fast."""
        return self.form.goal.reached(self.ratio, self.mb_s) if self.is_read else 0.0


def once(name: str, folder: Path, code: Path = ROOT / "src", sources: Iterable[str] = ()) -> dict[str, Any]:
    """Measure in a new process, with the leadsman of a source tree. The benchmark is always this one."""
    path = os.pathsep.join((str(code), str(ROOT)))
    command = [sys.executable, "-m", "bench.forms.peers", name, str(folder), *sources]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=True,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": path},
            timeout=LONGEST_S,
        )
    except subprocess.CalledProcessError as error:
        raise NotMeasured(_why(error)) from error
    except subprocess.TimeoutExpired as error:
        raise NotMeasured(f"not done after {LONGEST_S} s") from error
    facts: dict[str, Any] = json.loads(done.stdout)
    if "code" in facts and Path(facts["code"]) != code:
        raise NotMeasured(f"the leadsman of {facts['code']} was measured, not that of {code}")
    return facts


def _why(error: subprocess.CalledProcessError) -> str:
    """Return the exception's own line. DuckDB's are followed by a picture of the statement."""
    raised = [line for line in error.stderr.splitlines() if RAISED.match(line)]
    return raised[-1] if raised else f"exit code {error.returncode}: {error.stderr[-300:]}"


def measure(form: Form, work: Path, size: int, *, rounds: int, report: Report) -> FormResult:
    """Generate a form into `work`, and measure leadsman and its peers by turns."""
    folder = generated(form, work, size, report)
    mb, twin = text_mb(folder), work / "twin"
    if form.twin:
        twin.mkdir()
        form.twin(twin, size)
    folders = {peers.LEADSMAN: folder, form.peer: twin if form.twin else folder}
    folders |= dict.fromkeys(form.also, folder)
    taken = _by_turns(folders, rounds, form=form, report=report)
    ours, theirs = taken[peers.LEADSMAN], taken[form.peer]
    return FormResult(
        form=form,
        mb=mb,
        mb_s=_mb_s(mb, ours),
        events=ours[-1]["events"],
        refused=tuple(ours[-1]["refused"]),
        peak_mb=max(each["peak_mb"] for each in ours),
        peer_mb_s=_mb_s(mb, theirs),
        ratio=median(peer["seconds"] / max(SHORTEST_S, own["seconds"]) for own, peer in zip(ours, theirs, strict=True)),
        also_mb_s={name: _mb_s(mb, taken[name]) for name in form.also if taken[name]},
    )


def _by_turns(
    folders: Mapping[str, Path], rounds: int, *, form: Form, report: Report
) -> dict[str, list[dict[str, Any]]]:
    """Return what each took in every round; a peer that is optional may be unable to read a form."""
    taken: dict[str, list[dict[str, Any]]] = {name: [] for name in folders}
    for number in range(1, rounds + 1):
        for name, place in folders.items():
            try:
                facts = once(name, place, sources=form.sources)
            except NotMeasured as error:
                if name not in form.also:
                    raise
                report(f"  {name}: {error}")
            else:
                taken[name].append(facts)
                report(f"  {number}/{rounds} {name}: {facts['seconds']:.2f} s of CPU time")
    return taken


def generated(form: Form, work: Path, size: int, report: Report) -> Path:
    """Write a form's files below `work`, and return where."""
    report(f"{form.name}: generating")
    folder = work / "form"
    folder.mkdir(parents=True)
    form.write(folder, size)
    return folder


def _mb_s(mb: float, taken: list[dict[str, Any]]) -> float:
    seconds: float = median(each["seconds"] for each in taken)
    return mb / max(SHORTEST_S, seconds)


DECOMPRESSORS = {".gz": "gzip", ".zst": "zstd"}


def text_mb(folder: Path) -> float:
    """Return the megabytes that there are to read, of compressed files those of their text."""
    return sum(map(_text_bytes, peers.files(folder))) / 1e6


def _text_bytes(path: Path) -> int:
    program = DECOMPRESSORS.get(path.suffix)
    if program is None:
        return path.stat().st_size
    size = 0
    with subprocess.Popen([program, "-dc", str(path)], stdout=subprocess.PIPE) as source:
        assert source.stdout is not None
        while block := source.stdout.read(1 << 20):
            size += len(block)
    return size
