"""Runs a mode's variants again and again, and reports how often verdict and harm were right.

`python -m leadsman.lab.run.repeat MODE [VARIANT...] [--times 5] [--kafka VERSION] [--side-by-side 1]`. Right is PRESENT
with harm for what is broken, ABSENT without harm for the cured, and ABSENT for near misses. The captures are
not kept.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from leadsman.lab.run.reproduce import NEWEST_KAFKA
from leadsman.model import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leadsman.lab.run.experiment import Experiment

RUN_TIMEOUT_SECONDS = 500
"""A run takes one to two minutes, on a busy machine several times that."""

CODE = """
import json, sys
from importlib import import_module
from pathlib import Path
from leadsman.lab.run.reproduce import run
mode, variant, client, kafka, out = sys.argv[1:]
experiment = import_module(f"leadsman.modes.{mode}.scenario").EXPERIMENT
outcome = run(experiment, out=Path(out), variant=variant, client=client, kafka=kafka)
tolerated = experiment.tolerated_harm if variant == "cured" else ()
print(json.dumps({"harm": {kind: count for kind, count in outcome.harm.items() if kind not in tolerated}}))
"""


class RepeatedRun(NamedTuple):
    """One run: its variant, whether anything was harmed, its verdict, and why it failed to run."""

    variant: str
    is_harmed: bool
    verdict: str
    failure: str = ""


@click.command()
@click.argument("mode")
@click.argument("variants", nargs=-1)
@click.option("--times", default=5, show_default=True, help="How often each runs.")
@click.option(
    "--side-by-side", default=1, show_default=True, help="Runs at one time: a run waits more than it computes."
)
@click.option("--client", default="java", show_default=True, help="The client library.")
@click.option("--kafka", default=NEWEST_KAFKA, show_default=True, metavar="VERSION", help="Version of the brokers.")
def main(*, mode: str, variants: tuple[str, ...], times: int, side_by_side: int, client: str, kafka: str) -> None:
    """Run MODE's variants again and again, and report how often verdict and harm were right."""
    experiment: Experiment = import_module(f"leadsman.modes.{mode}.scenario").EXPERIMENT
    names = [name for _ in range(times) for name in variants or experiment.variants]
    with tempfile.TemporaryDirectory(prefix="leadsman-repeat-") as folder, ThreadPoolExecutor(side_by_side) as pool:
        captures = [Path(folder) / f"{number}-{name}" for number, name in enumerate(names)]
        pairs = zip(names, captures, strict=True)
        finished = list(pool.map(lambda each: _run_once(mode, each[0], client, kafka=kafka, out=each[1]), pairs))
        verdicts = _verdicts(mode, [path for path, (_, failure) in zip(captures, finished, strict=True) if not failure])
    runs = [
        RepeatedRun(name, is_harmed, verdicts.get(str(path), "-"), failure)
        for name, path, (is_harmed, failure) in zip(names, captures, finished, strict=True)
    ]
    _report(experiment, runs)
    sys.exit(0 if all(_is_right(experiment, each) for each in runs) else 1)


def _run_once(mode: str, variant: str, client: str, *, kafka: str, out: Path) -> tuple[bool, str]:
    """Run once, in a process of its own, so that several run side by side; return whether anything was harmed."""
    completed = subprocess.run(
        [sys.executable, "-c", CODE, mode, variant, client, kafka, str(out)],
        capture_output=True,
        text=True,
        check=False,
        timeout=RUN_TIMEOUT_SECONDS,
    )
    is_harmed = not completed.returncode and any(json.loads(completed.stdout.splitlines()[-1])["harm"].values())
    failure = (completed.stderr.strip().splitlines() or ["?"])[-1] if completed.returncode else ""
    click.echo(f"{variant}: {failure or ('harmed' if is_harmed else 'unharmed')}", err=True)
    return is_harmed, failure


def _verdicts(mode: str, captures: Sequence[Path]) -> dict[str, str]:
    """Diagnose all runs in one call."""
    if not captures:
        return {}
    command = [sys.executable, "-m", "leadsman", "diagnose", "--format", "json", *map(str, captures)]
    completed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=RUN_TIMEOUT_SECONDS)
    return {each["path"]: each["verdicts"][mode] for each in json.loads(completed.stdout)["captures"]}


def _is_right(experiment: Experiment, run: RepeatedRun) -> bool:
    if run.variant.startswith("broken"):
        return run.verdict == Verdict.PRESENT and run.is_harmed
    harm_as_expected = run.variant in experiment.scenario.near_misses or not run.is_harmed
    return run.verdict == Verdict.ABSENT and harm_as_expected


def _report(experiment: Experiment, runs: Sequence[RepeatedRun]) -> None:
    for variant in dict.fromkeys(run.variant for run in runs):
        own = [run for run in runs if run.variant == variant]
        right = sum(_is_right(experiment, run) for run in own)
        verdicts = " ".join(run.verdict for run in own)
        click.echo(
            f"{variant}: {right} of {len(own)} right; harmed {sum(run.is_harmed for run in own)}; {verdicts} "
            + "; ".join(run.failure for run in own if run.failure)
        )


if __name__ == "__main__":
    main()
