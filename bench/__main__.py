"""Measures leadsman against ripgrep, Polars and DuckDB on made-up Kafka logs, and writes docs/performance.md.

python -m bench             1.6 GB, several runs: 10 minutes on two quiet cores
python -m bench --smoke     10 MB, one run, the table on the screen only
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from functools import partial
from pathlib import Path

from bench import jobs, page, report
from bench.generate import generated
from bench.jobs import SMALL, Bench
from bench.measure import Job, in_turn, machine

WARM_UPS = 6
"""Runs until the JVM's second compiler has done most of its work."""


def main() -> None:
    """Generate, warm up, measure, report."""
    arguments = _arguments()
    size = "smoke" if arguments.smoke else "full"
    logs = generated(size)
    runs = arguments.runs or (1 if arguments.smoke else 5)
    about = machine()
    with tempfile.TemporaryDirectory(prefix="leadsman-bench-") as work:
        bench = Bench(logs, Path(work), arguments.cores)
        measured = [*_warm(bench, runs), *_cold(bench, runs)]
    table = report.text(measured, logs=logs, about=about, cores=bench.cores, runs=runs)
    print(table)
    if not arguments.smoke:
        page.put("logs", table)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure leadsman against other tools.")
    parser.add_argument("--smoke", action="store_true", help="10 MB and one run: does everything work?")
    parser.add_argument("--runs", type=int, help="how often each job runs")
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 2, help="cores that every tool may use")
    return parser.parse_args()


def _warm(bench: Bench, runs: int) -> list[Job]:
    """Measure what a session does that stays. Its first runs, which start workers and compile, are not counted."""
    with jobs.staying(bench.cores) as spark:
        parse = [
            Job("parse: leadsman", partial(jobs.parse, spark, bench)),
            Job("parse: ripgrep", partial(jobs.ripgrep, bench)),
        ]
        full = [
            Job("full: leadsman", partial(jobs.full, spark, bench)),
            Job("full: Polars", partial(jobs.peer, "polars", bench)),
            Job("full: DuckDB", partial(jobs.peer, "duckdb", bench)),
        ]
        scan = Job("scan alone, one core", partial(jobs.scan, bench))
        for job in (parse[1], scan, *(parse[0], full[0]) * WARM_UPS):
            job.run()
        in_turn([*parse, scan], runs, _report)
        in_turn(full, runs, _report)
        memory = [Job("memory during the full job", partial(jobs.memory, spark, bench))]
        in_turn(memory, 1, _report)
    return [*parse, scan, *full, *memory]


def _cold(bench: Bench, runs: int) -> list[Job]:
    found = [
        Job("cold: all", partial(jobs.cold, bench.logs, bench)),
        Job("cold: small", partial(jobs.cold, SMALL, bench)),
        Job("cold: small, to its finding", partial(jobs.first, SMALL, bench)),
        Job("cold: small, Spark's own start", partial(jobs.cold_stock, SMALL, bench)),
    ]
    in_turn(found, runs, _report)
    return found


def _report(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
