# ruff: noqa: E501 - rows of a table
"""Puts what was measured on logs into words, for docs/performance.md."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING

from bench.jobs import ripgrep_version
from bench.measure import Job, cpu_ratio, ratios
from bench.reference import MachineSpeed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

QUIET_CORES = 0.2
"""Other programs kept this many cores busy at most: then wall times mean what they say."""

PACKAGES = ("pyspark", "pyarrow", "hyperscan", "polars", "duckdb")


@dataclass(frozen=True, slots=True)
class SpeedTarget:
    """What is to be reached: `least` times as fast as `peer`."""

    ours: str
    peer: str
    least: float


TARGETS = (
    SpeedTarget("parse: leadsman", "parse: ripgrep", 1.2),
    SpeedTarget("full: leadsman", "full: Polars", 4),
    SpeedTarget("full: leadsman", "full: DuckDB", 6),
)
COLD_SECONDS = 9
FINDING_SECONDS = 4.5
PYTHON_BYTES = 1e9


def text(measured: Sequence[Job], *, logs: Path, about: Mapping[str, str], cores: int, runs: int) -> str:
    """Return the section."""
    jobs = {job.name: job for job in measured}
    size = sum(path.stat().st_size for path in logs.rglob("*") if path.is_file())
    paragraphs = [
        _circumstances(about, size=size, cores=cores, runs=runs, jobs=measured),
        "### Targets",
        "\n".join(_targets(jobs)),
        "### Figures",
        "\n".join(_figures(measured, size)),
        "### Why a target can be missed",
        MISSED.strip(),
        "### What is compared",
        COMPARED.strip(),
    ]  # fmt: skip - heading and body on one line
    return "\n\n".join(paragraphs)


def _circumstances(about: Mapping[str, str], *, size: int, cores: int, runs: int, jobs: Sequence[Job]) -> str:
    versions = ", ".join([*(f"{name} {version(name)}" for name in PACKAGES), ripgrep_version()])
    machine = ", ".join(f"{key}: {value}" for key, value in about.items())
    busiest = max(max(job.others) for job in jobs)
    load = (
        f"Other programs kept up to {busiest:.1f} cores busy meanwhile: read the ratios and the CPU times, not the wall times."
        if busiest > QUIET_CORES
        else "The machine was quiet."
    )
    return (
        f"{size / 1e9:.2f} GB of generated Kafka logs, {cores} cores for every tool, {runs} runs of each job turn by turn "
        f"(A B A B), medians, smallest and largest in brackets.\n\n- Machine: {machine}\n- Versions: {versions}\n- {load}"
    )


def _targets(jobs: Mapping[str, Job]) -> Iterator[str]:
    yield "| target | goal | measured | by CPU time | reached |"
    yield "|---|---|---|---|---|"
    for target in TARGETS:
        ours, peer = jobs[target.ours], jobs[target.peer]
        middle, low, high = ratios(ours, peer)
        yield (
            f"| {target.ours} against {target.peer.split(': ')[1]} | {target.least:g} x | {middle:.1f} x ({low:.1f} to {high:.1f}) "
            f"| {cpu_ratio(ours, peer):.1f} x | {_yes(middle >= target.least)} |"
        )
    speed = MachineSpeed(list(jobs["parse: ripgrep"].wall))
    for what, goal, job in (
        ("a whole process, cold", COLD_SECONDS, "cold: all"),
        ("a small capture, to its finding", FINDING_SECONDS, "cold: small, to its finding"),
    ):
        seconds, here = jobs[job].seconds, speed.scaled(goal)
        yield f"| {what} | {goal:g} s, here {here:.1f} s | {seconds:.1f} s | | {_yes(seconds <= here)} |"
    memory_bytes = jobs["memory during the full job"].facts["python_bytes"]
    yield f"| memory beside the JVM | < {PYTHON_BYTES / 1e9:g} GB | {memory_bytes / 1e9:.2f} GB | | {_yes(memory_bytes < PYTHON_BYTES)} |"


def _yes(reached: bool) -> str:  # noqa: FBT001 - a cell of a table
    return "yes" if reached else "**no**"


def _figures(measured: Sequence[Job], size: int) -> Iterator[str]:
    yield "| job | wall, s | CPU, s | MB a CPU second | other programs, cores | result |"
    yield "|---|---|---|---|---|---|"
    for job in (job for job in measured if "python_bytes" not in job.facts):
        low, high = min(job.wall), max(job.wall)
        cpu = sorted(job.cpu)[len(job.cpu) // 2]
        speed = "" if job.name.startswith("cold: small") else f"{size / 1e6 / cpu:.0f}"
        facts = ", ".join(f"{key} {value:,}" for key, value in job.facts.items() if isinstance(value, int))
        yield f"| {job.name} | {job.seconds:.2f} ({low:.2f} to {high:.2f}) | {cpu:.1f} | {speed} | {max(job.others):.1f} | {facts} |"


MISSED = """
- ripgrep stops at the first match of a line and keeps nothing. leadsman's pass over the bytes (`scan alone`) is faster,
  but every line that becomes an event is then parsed in Python.
- Many of the generated lines without an error report that a leader started. Each is an event, and these are most of the
  rows; in production such lines come with elections only.
- The full job adds Spark's own work for each row: out of Arrow, through the JVM, into Parquet and back.
- A cold run takes at least as long as the small capture, which is start-up and the planning of the detectors; a worker also
  starts a Python of its own, and writes what it read through the JVM into Spark's cache.
"""
COMPARED = """
- **parse**: a warm Spark session reads every event with every signature and counts them; ripgrep counts the lines that the
  same patterns match (`rg --count --text --no-unicode`, its fastest mode). leadsman also extracts times, fields, records
  and idle gaps, because its reader cannot do less; ripgrep does not. The session is as Spark itself starts it, with
  both compilers and generated code: this is a session that stays, in a notebook or behind Spark Connect.
- **full**: the event table written as Parquet, and counts per minute and kind. Polars and DuckDB (`bench/peers.py`) match the
  same signatures, read every line's time, carry it on to stack traces, compute the gap to the stream's previous line, extract
  level, logger, client, node, topic and partition from the matches, write Parquet and counts. leadsman reports gaps of one
  second and more (the longest 200 per subject), gives line numbers, groups unknown errors and masks secrets; it does not extract
  level and logger. With all patterns in one alternation, both peers read less than a megabyte a second, so they
  get what ripgrep derives by itself: plain texts that a line must contain (`bench/literals.py`).
- **cold: all** is `leadsman diagnose` as a whole process, **cold: small** the same on a recorded capture, once with leadsman's own
  JVM start and its class archive, once only until the finding is printed, once in a session that Spark starts itself. The
  benchmark does not see the end of a cold run's workers, which end with their JVM: their CPU time appears as `other programs`.
- Memory beside the JVM is the largest sum of the memory that only the Python processes use (unique set size), sampled 20 times
  a second during one more full job, which is not timed.
"""
