"""Measures every form with this source tree's leadsman and with another revision's, by turns, on the same files."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from bench.forms import peers
from bench.forms.runs import NotMeasured, Report, generated, once
from bench.jobs import ROOT

from leadsman.interrupt import defer_interrupts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from bench.forms.form import Form

MAX_SLOWER = 1.2
"""Times the CPU time of the other revision: a row that takes longer fails the benchmark."""

MIN_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Compared:
    """How many times the other revision's time a form takes now, the median over pairs, or why that is not known."""

    name: str
    times: float | None
    why: str = ""

    @property
    def is_slower(self) -> bool:
        return self.times is not None and self.times > MAX_SLOWER


@contextmanager
def checked_out(revision: str, work: Path) -> Iterator[Path]:
    """Yield a source tree of a revision; it is gone afterwards, also after a Ctrl-C."""
    worktree = work / "revision"
    try:
        with defer_interrupts():
            _git("worktree", "add", "--quiet", "--detach", str(worktree), revision)
        yield worktree / "src"
    finally:
        with defer_interrupts():
            shutil.rmtree(worktree, ignore_errors=True)
            _git("worktree", "prune")


def _git(*words: str) -> None:
    # Of a group of its own: a Ctrl-C must not end git halfway.
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False, process_group=0)
    if done.returncode:
        raise SystemExit(f"git {words[0]} {words[1]} failed: {done.stderr.strip()}")


def compare(form: Form, work: Path, size: int, *, theirs: Path, rounds: int, report: Report) -> Compared:
    """Generate a form into `work` and read it with both, A B A B."""
    folder = generated(form, work, size, report)
    pairs: list[float] = []
    for number in range(1, max(rounds, MIN_ROUNDS) + 1):
        before = _seconds(folder, theirs)
        if isinstance(before, str):
            return Compared(form.name, None, f"not read by the other revision: {before}")
        now = _seconds(folder, ROOT / "src")
        if isinstance(now, str):
            return Compared(form.name, float("inf"), f"not read any more: {now}")
        pairs.append(now / before)
        report(f"  {number}: {before:.2f} s there, {now:.2f} s here, {pairs[-1]:.2f} times")
    return Compared(form.name, median(pairs))


def _seconds(folder: Path, code: Path) -> float | str:
    """Return the CPU time of reading, or why the form is not read."""
    try:
        facts = once(peers.LEADSMAN, folder, code)
    except NotMeasured as error:
        return str(error)
    if facts["refused"] or not facts["events"]:
        return next(iter(facts["refused"]), "no events")
    return max(1e-3, float(facts["seconds"]))


def report(compared: Iterable[Compared], revision: str) -> tuple[str, bool]:
    """Return what came of it, the slowest first, and whether that is a failure: so is that nothing was compared."""
    rows = sorted(compared, key=lambda row: -(row.times or 0))
    lines = [f"| form | times the CPU time of {revision} |", "|---|---|"]
    lines += [f"| {row.name} | {row.why or f'{row.times:.2f}'} |" for row in rows]
    slower = [row.name for row in rows if row.is_slower]
    share, known = f"{MAX_SLOWER - 1:.0%}", sum(row.times is not None for row in rows)
    if not known:
        end = f"FAILED: no form is read by {revision}, so nothing was compared"
    elif slower:
        end = f"FAILED: more than {share} slower than {revision}, or not read any more: {'; '.join(slower)}"
    else:
        end = (
            f"None of {known} forms is more than {share} slower than {revision}; {len(rows) - known} were not compared."
        )
    return "\n".join((*lines, "", end)), bool(slower) or not known
