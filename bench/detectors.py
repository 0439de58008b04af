"""Measures what detectors cost, in Spark's tasks and by Spark's own SQL, and writes docs/performance.md.

python -m bench.detectors             five runs a row in tasks, one by Spark's SQL: an hour on two quiet cores
python -m bench.detectors --smoke     the smallest rows, once, the table on the screen only

Reading is done before. What is measured is from events to diagnoses, by all modes: CPU time of the whole process
tree (this process, the JVM, its Python workers), in a session that has done nothing before, and again in the same one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as pc
from bench import page
from bench.cpu_time import cpu_seconds
from bench.measure import machine
from bench.reference import MachineSpeed

from leadsman.catalogue import Mode, every_mode, modes_named
from leadsman.pipeline import diagnose as whole
from leadsman.pipeline import diagnose_in_tasks
from leadsman.pipeline.request import DiagnosisInput, DiagnosisRequest, find_input, read_small_input
from leadsman.pipeline.spark.session import session

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parent.parent
TASKS, SPARK, NO_DETECTORS = "in tasks", "by Spark SQL", "without detectors"
WAYS = (TASKS, SPARK)
WARM_CALLS = 2
SPARK_RUNS = 1
"""Its larger rows take minutes a run, and are several times dearer: one run is enough to show that."""


class DetectorInput(NamedTuple):
    """One input: recordings, how often each and as what, and goals in CPU seconds, cold and warm."""

    name: str
    recordings: Sequence[Path]
    times: int = 1
    copies: str = "capture"
    modes: Sequence[str] = ()
    ways: Sequence[str] = WAYS
    goals: tuple[float | None, float | None] = (None, None)


def _recordings() -> list[Path]:
    return [folder for mode in every_mode() for folder in mode.recordings()]


def _of(mode: str, name: str) -> Path:
    return Mode(mode).folder / "recorded" / name


def rows() -> list[DetectorInput]:
    """Return the inputs. Many events of one capture are a recording's, of as many times its workers, or of as many
    moments of the same ones: a storm."""
    idle, leak = _of("idle_disconnect", "broken-java"), _of("producer_id_leak", "broken-java")
    return [
        DetectorInput("a small capture of `idle_disconnect`", [idle]),
        DetectorInput("a small capture of `producer_id_leak`", [leak]),
        DetectorInput("10,000 events of one capture", [idle], times=29, copies="writer", goals=(2.0, 0.5)),
        DetectorInput(
            "a storm: 80,000 events of the same clients",
            [_of("idle_disconnect", "broken-confluent-kafka")],
            times=1850,
            copies="moment",
        ),
        DetectorInput("every recording at once", _recordings()),
        DetectorInput("100 small captures at once", _recordings()[:50], times=2),
        DetectorInput("281,600 events of one capture", [idle], times=800, copies="writer", ways=[TASKS]),
        DetectorInput(
            "1,000,000 events of one capture", [idle], times=2850, copies="writer", ways=[TASKS], goals=(None, 5.0)
        ),
    ]


def main() -> None:
    """Measure each row both ways by turns, each in a process of its own. With --measure: one of them, here."""
    options = _arguments()
    if options.measure:
        print(json.dumps(_measured(_row(options.row), options.measure)))
        return
    chosen = rows()[:3] if options.smoke else rows()
    runs = 1 if options.smoke else options.runs
    speed = MachineSpeed()
    if not options.smoke:
        speed.measure()
    table = [_line(number, row, speed, runs=runs) for number, row in enumerate(chosen)]
    about = ", ".join(f"{name}: {value}" for name, value in machine().items())
    budgets, over = _budgets(runs=runs)
    counted = "one run" if runs == 1 else f"medians of {runs} runs in tasks, {SPARK_RUNS} by Spark SQL"
    scale = [] if options.smoke else ["", speed.explained()]
    section = "\n".join((f"CPU seconds, {counted}. Machine: {about}", *scale, "", *HEAD, *table, "", *budgets))
    print(section)
    if not options.smoke:
        page.put("detectors", section)
    if over:
        sys.exit(f"FAILED: over the budget of {BUDGET_S:g} s: {', '.join(over)}")


HEAD = (
    "| input | events | cold, in tasks | cold, by Spark SQL | warm, in tasks | warm, by Spark SQL | goals |",
    "|---|---|---|---|---|---|---|",
)


BUDGET_S = 3.0
"""CPU seconds of one detector, warm, over 10,000 events of its own incident. The dearest took 2.6 on a slow
machine; what is over this does something that the others do not."""

OF_EACH = {"idle_disconnect": 29, "leaderless_partition": 10, "producer_id_leak": 9, "stale_neighbour": 7}
"""How often a recording's writers make 10,000 events."""


def _budgets(*, runs: int) -> tuple[list[str], list[str]]:
    """Return the table of what each detector takes of its own incident, and which take more than their budget."""
    lines = [
        "| detector | events | warm, without it | warm, with it | its share | budget |",
        "|---|---|---|---|---|---|",
    ]
    over: list[str] = []
    for mode in every_mode():
        pairs = [(_in_process(mode.name, NO_DETECTORS), _in_process(mode.name, TASKS)) for _ in range(runs)]
        share = median(with_it["warm"] - without["warm"] for without, with_it in pairs)
        without, with_it = (median(pair[side]["warm"] for pair in pairs) for side in (0, 1))
        events = pairs[0][0]["events"]
        lines.append(f"| `{mode.name}` | {events:,.0f} | {without:.2f} | {with_it:.2f} | {share:.2f} | {BUDGET_S:g} |")
        print(lines[-1], file=sys.stderr, flush=True)
        if share > BUDGET_S:
            over.append(mode.name)
    return lines, over


def _row(name: str) -> DetectorInput:
    """Return a row by its number, or that of a detector's own incident."""
    if name.isdigit():
        return rows()[int(name)]
    broken = next(folder for folder in Mode(name).recordings() if folder.name.startswith("broken-java"))
    return DetectorInput(name, [broken], times=OF_EACH.get(name, 10), copies="writer", modes=[name])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.detectors", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="the smallest rows, once")
    parser.add_argument("--runs", type=int, default=5, help="how often each is measured in tasks")
    parser.add_argument("--measure", choices=[TASKS, SPARK, NO_DETECTORS], help=argparse.SUPPRESS)
    parser.add_argument("--row", help=argparse.SUPPRESS)
    return parser.parse_args()


def _line(number: int, row: DetectorInput, speed: MachineSpeed, *, runs: int) -> str:
    taken: dict[str, list[dict[str, float]]] = {way: [] for way in row.ways}
    for turn in range(runs):
        for way, results in taken.items():
            if way == SPARK and turn >= SPARK_RUNS:
                continue
            results.append(_in_process(number, way))
            print(f"{row.name}, {way}: {results[-1]}", file=sys.stderr, flush=True)
    cells = [
        f"{median(each[when] for each in taken[way]):.1f}" if way in taken else "not run"
        for when in ("cold", "warm")
        for way in WAYS
    ]
    goals = _goals(row, speed) if any(row.goals) else ""
    return "| " + " | ".join((row.name, f"{taken[TASKS][0]['events']:,.0f}", *cells, goals)) + " |"


def _goals(row: DetectorInput, speed: MachineSpeed) -> str:
    """Return the goals of a cold and of a warm session, as they are given and, where measured, on this machine."""
    given = " and ".join("-" if goal is None else f"{goal:g}" for goal in row.goals)
    if not speed.seconds:
        return given
    return f"{given}; here {' and '.join('-' if goal is None else f'{speed.scaled(goal):.1f}' for goal in row.goals)}"


def _in_process(row: int | str, way: str) -> dict[str, float]:
    words = [sys.executable, "-m", "bench.detectors", "--measure", way, "--row", str(row)]
    done = subprocess.run(words, check=True, capture_output=True, text=True, cwd=ROOT)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def _measured(row: DetectorInput, way: str) -> dict[str, float]:
    source = _source(row)
    assert source.events is not None
    request = DiagnosisRequest(modes=[] if way == NO_DETECTORS else modes_named(row.modes))
    most = -1 if way == SPARK else diagnose_in_tasks.MAX_TASK_EVENTS
    taken: list[float] = []
    with session() as spark, patch.object(whole, "MAX_TASK_EVENTS", most):
        for _ in range(1 + WARM_CALLS):
            before = cpu_seconds()
            whole.diagnose(spark, source, request)
            taken.append(cpu_seconds() - before)
    return {"events": source.events.num_rows, "cold": taken[0], "warm": median(taken[1:])}


def _source(row: DetectorInput) -> DiagnosisInput:
    """Read the recordings, many times over: as captures of their own, of other writers, or of other moments."""
    inputs = read_small_input(find_input([str(path) for path in row.recordings]))
    assert inputs.events is not None
    if row.times == 1:
        return inputs
    make = _later if row.copies == "moment" else partial(_renamed, apart=row.copies == "capture")
    copies = [inputs.events, *(make(inputs.events, number) for number in range(1, row.times))]
    found = dict(inputs.captures)
    if row.copies == "capture":
        found |= {f"{path}#{number}": each for number in range(1, row.times) for path, each in inputs.captures.items()}
    # A reader's batches are large, and Spark makes a partition of each.
    return replace(inputs, captures=found, events=pa.concat_tables(copies).combine_chunks())


def _renamed(events: pa.Table, number: int, *, apart: bool) -> pa.Table:
    """Return the events as those of another capture, or of other writers of the same one."""
    for name in ("capture",) if apart else ("subject", "file"):
        column_index = events.schema.get_field_index(name)
        renamed = [None if value is None else f"{value}#{number}" for value in events.column(name).to_pylist()]
        events = events.set_column(column_index, events.schema.field(name), pa.array(renamed, pa.string()))
    return events


ONCE = ("file.read", "setting", "subject.active", "subject.idle")
"""What a storm does not say again."""


def _later(events: pa.Table, number: int) -> pa.Table:
    """Return what happened once more, so many times 37 ms later and further down."""
    again = events.filter(pa.array([name not in ONCE for name in events.column("name").to_pylist()]))
    moved = {"at": STEP * number, "line": LINES * number}
    for name, by in moved.items():
        column_index, field = again.schema.get_field_index(name), again.schema.field(name)
        column = pc.add(again.column(name).cast(pa.int64()), by)
        again = again.set_column(column_index, field, column.cast(field.type))
    return again


STEP, LINES = 37_000, 100_000
"""Microseconds; lines that no recording reaches."""


if __name__ == "__main__":
    main()
