"""Makes a mode's recordings anew: `python -m leadsman.lab.record_all MODE [NAME...]`. About half a minute each.

Each is recorded beside the old one and replaces it when it is complete. `harm.json` beside them holds the harm that the
ledger counted: it is no part of a capture, since diagnosis must not read it.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.lab.run.reproduce import NEWEST_KAFKA, RunOutcome, run
from leadsman.lab.run.trim import trim

if TYPE_CHECKING:
    from leadsman.lab.run.experiment import Experiment


def record(experiment: Experiment, name: str, folder: Path) -> RunOutcome:
    """Make one recording in `folder`."""
    variant, client, *kafka = experiment.recordings[name]
    with tempfile.TemporaryDirectory(prefix=".record-", dir=folder.parent) as scratch:
        outcome = run(
            experiment, out=Path(scratch) / name, variant=variant, client=client, kafka=(kafka or [NEWEST_KAFKA])[0]
        )
        trim(outcome.capture)
        shutil.rmtree(folder / name, ignore_errors=True)
        outcome.capture.rename(folder / name)
    return outcome


def note_harm(folder: Path, name: str, outcome: RunOutcome) -> None:
    """Add the harm that the ledger counted to harm.json."""
    file = folder / "harm.json"
    harm = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    ledger = outcome.ledger
    harm[name] = {**outcome.harm, "sent": ledger.sent, "by_worker": ledger.harm_by_worker()}
    file.write_text(json.dumps(dict(sorted(harm.items())), indent=2) + "\n", encoding="utf-8")


def main(mode: str, names: list[str]) -> None:
    """Record all, or those named."""
    scenario = import_module(f"leadsman.modes.{mode}.scenario")
    experiment: Experiment = scenario.EXPERIMENT
    folder = Path(str(scenario.__file__)).parent / "recorded"
    folder.mkdir(exist_ok=True)
    for name in names or experiment.recordings:
        outcome = record(experiment, name, folder)
        note_harm(folder, name, outcome)
        sys.stdout.write(f"{name}: {outcome.harm}, {outcome.phase_seconds}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
