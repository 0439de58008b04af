"""Plays a mode's variants again and again, and says how often verdict and harm were right.

`python -m leadsman.lab.repeat MODE [VARIANT...] [--times 5] [--kafka VERSION] [--side-by-side 1]`. Right is PRESENT
with harm for what is broken, ABSENT without harm for the cured, and ABSENT for near misses. What the runs recorded is
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

from leadsman.lab.reproduce import NEWEST_KAFKA
from leadsman.model import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leadsman.lab.experiment import Experiment

PLAYED_SECONDS = 500
"""A run takes one to two minutes, on a busy machine several times that."""

CODE = """
import json, sys
from importlib import import_module
from pathlib import Path
from leadsman.lab.reproduce import run
mode, variant, client, kafka, out = sys.argv[1:]
experiment = import_module(f"leadsman.modes.{mode}.scenario").EXPERIMENT
outcome = run(experiment, out=Path(out), variant=variant, client=client, kafka=kafka)
endured = experiment.endured if variant == "cured" else ()
print(json.dumps({"harm": {kind: count for kind, count in outcome.harm.items() if kind not in endured}}))
"""


class Played(NamedTuple):
    """One run: its variant, whether anything was harmed, what was said of it, and why it could not be played."""

    variant: str
    harmed: bool
    verdict: str
    failed: str = ""


@click.command()
@click.argument("mode")
@click.argument("variants", nargs=-1)
@click.option("--times", default=5, show_default=True, help="How often each is played.")
@click.option("--side-by-side", default=1, show_default=True, help="Runs at one time: they wait more than they work.")
@click.option("--client", default="java", show_default=True, help="Who suffers.")
@click.option("--kafka", default=NEWEST_KAFKA, show_default=True, metavar="VERSION", help="Version of the brokers.")
def main(*, mode: str, variants: tuple[str, ...], times: int, side_by_side: int, client: str, kafka: str) -> None:
    """Play MODE's variants again and again, and say how often verdict and harm were right."""
    experiment: Experiment = import_module(f"leadsman.modes.{mode}.scenario").EXPERIMENT
    wanted = [name for _ in range(times) for name in variants or experiment.variants]
    with tempfile.TemporaryDirectory(prefix="leadsman-repeat-") as folder, ThreadPoolExecutor(side_by_side) as pool:
        places = [Path(folder) / f"{number}-{name}" for number, name in enumerate(wanted)]
        pairs = zip(wanted, places, strict=True)
        played = list(pool.map(lambda each: _played(mode, each[0], client, kafka=kafka, out=each[1]), pairs))
        told = _verdicts(mode, [place for place, (_, failed) in zip(places, played, strict=True) if not failed])
    runs = [
        Played(name, harmed, told.get(str(place), "-"), failed)
        for name, place, (harmed, failed) in zip(wanted, places, played, strict=True)
    ]
    _say(experiment, runs)
    sys.exit(0 if all(_right(experiment, each) for each in runs) else 1)


def _played(mode: str, variant: str, client: str, *, kafka: str, out: Path) -> tuple[bool, str]:
    """Play once, in a process of its own, so that several can go on side by side; say whether anything was harmed."""
    ran = subprocess.run(
        [sys.executable, "-c", CODE, mode, variant, client, kafka, str(out)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PLAYED_SECONDS,
    )
    harmed = not ran.returncode and any(json.loads(ran.stdout.splitlines()[-1])["harm"].values())
    failed = (ran.stderr.strip().splitlines() or ["?"])[-1] if ran.returncode else ""
    click.echo(f"{variant}: {failed or ('harmed' if harmed else 'unharmed')}", err=True)
    return harmed, failed


def _verdicts(mode: str, captures: Sequence[Path]) -> dict[str, str]:
    """Diagnose all runs in one call."""
    if not captures:
        return {}
    command = [sys.executable, "-m", "leadsman", "diagnose", "--format", "json", *map(str, captures)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PLAYED_SECONDS)
    return {each["path"]: each["verdicts"][mode] for each in json.loads(ran.stdout)["captures"]}


def _right(experiment: Experiment, run: Played) -> bool:
    if run.variant.startswith("broken"):
        return run.verdict == Verdict.PRESENT and run.harmed
    harmless = run.variant in experiment.scenario.near_misses or not run.harmed
    return run.verdict == Verdict.ABSENT and harmless


def _say(experiment: Experiment, runs: Sequence[Played]) -> None:
    for variant in dict.fromkeys(run.variant for run in runs):
        mine = [run for run in runs if run.variant == variant]
        right = sum(_right(experiment, run) for run in mine)
        verdicts = " ".join(run.verdict for run in mine)
        click.echo(
            f"{variant}: {right} of {len(mine)} right; harmed {sum(run.harmed for run in mine)}; {verdicts} "
            + "; ".join(run.failed for run in mine if run.failed)
        )


if __name__ == "__main__":
    main()
