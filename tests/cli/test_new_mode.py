"""`leadsman new-mode`, and what it must leave no trace of."""

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from inspect import isfunction
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pyspark.sql import SparkSession

from leadsman import modes
from leadsman.catalogue import Mode, every_mode
from leadsman.cli.new_mode import PARTS
from leadsman.gate.program import Program, check
from leadsman.model import State
from leadsman.pipeline.inputs import events_of
from leadsman.pipeline.question import look, read_small

Rule = Callable[..., Any]
MODES = [pytest.param(mode, id=mode.name) for mode in every_mode()]


@pytest.fixture
def part(made: Path, monkeypatch: pytest.MonkeyPatch):
    """Import a part of the new mode as the catalogue would."""
    monkeypatch.setattr(modes, "__path__", [*modes.__path__, str(made.parent)])
    yield lambda name: import_module(f"leadsman.modes.{made.name}{name}")
    for name in [name for name in sys.modules if name.startswith(f"leadsman.modes.{made.name}")]:
        del sys.modules[name]


@pytest.fixture
def made(call, tmp_path: Path) -> Path:
    """A new mode, beside the real ones."""
    assert call("new-mode", "sleepy_consumer", "--into", tmp_path / "modes").code == 0
    return tmp_path / "modes" / "sleepy_consumer"


def test_a_new_mode_has_every_part(made: Path) -> None:
    assert sorted(path.name for path in made.iterdir()) == sorted(PARTS.values())
    assert [path.name for path in made.parent.iterdir()] == ["sleepy_consumer"]


@pytest.mark.parametrize("part", sorted(name for name in PARTS.values() if name.endswith(".py")))
def test_every_part_is_python_that_knows_its_name(made: Path, part: str) -> None:
    text = (made / part).read_text()

    ast.parse(text)
    assert "$" not in text


def test_what_to_do_next_is_said(call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leadsman.cli.new_mode.MODES", tmp_path / "modes")

    told = call("new-mode", "sleepy_consumer", "--into", tmp_path / "modes")

    assert "leadsman.lab.record_all sleepy_consumer" in told.out
    assert "FILL IN" in told.out


def test_its_programs_differ_in_one_setting(made: Path) -> None:
    broken, healthy = Program.read(made / "broken.py"), Program.read(made / "healthy.py")

    differing = {name for name in broken.settings if broken.settings[name].value != healthy.settings[name].value}

    assert differing == {"delivery.timeout.ms"}


def test_its_card_its_rules_and_its_experiment_fit_one_another(made: Path, part) -> None:
    rules = rules_of(part(".rules"))
    experiment = part(".scenario").EXPERIMENT

    (violation,) = check(Program.read(made / "broken.py"), rules)
    assert check(Program.read(made / "healthy.py"), rules) == []
    assert "delivery.timeout.ms" in violation.message
    assert experiment.mode == made.name
    assert {variant for variant, _ in experiment.recordings.values()} == experiment.variants.keys()
    assert [link.id for link in part("").MODE.chain] == ["cause", "symptom"]


@pytest.mark.spark
def test_its_detector_answers_as_those_of_the_real_modes_do(part, spark: SparkSession, recorded) -> None:
    real = every_mode()[0]
    events = events_of(spark, read_small(look([str(recorded("near-miss-broker-restart-confluent-kafka"))])))

    made, expected = part(".detector").detect(events), real.detect(events)

    assert dict(made.observations.dtypes) == dict(expected.observations.dtypes)
    assert dict(made.points.dtypes) == dict(expected.points.dtypes)
    assert {row["state"] for row in made.observations.collect()} <= {*State}


def rules_of(module: ModuleType) -> dict[str, Rule]:
    return {name: rule for name, rule in vars(module).items() if isfunction(rule)}


@pytest.mark.parametrize("name", ["Idle", "idle-x", "2fast", "_idle", "idle__x", "", "class", "../idle", "ídle"])
def test_a_bad_name_is_refused(call, tmp_path: Path, name: str) -> None:
    told = call("new-mode", "--into", tmp_path / "modes", "--", name)

    assert told.code == 2
    assert "leaderless_partition" in told.err
    assert not (tmp_path / "modes").exists()


def test_an_existing_mode_is_left_alone(call) -> None:
    told = call("new-mode", "idle_disconnect")

    assert told.code == 2
    assert "idle_disconnect" in told.err


def test_a_folder_that_cannot_be_written_is_named(call) -> None:
    told = call("new-mode", "sleepy_consumer", "--into", "/proc/modes")

    assert told.code == 2
    assert "/proc/modes" in told.err
    assert "--into" in told.err


@pytest.mark.parametrize("mode", MODES)
def test_nothing_of_the_scaffold_is_left_to_fill_in(mode: Mode) -> None:
    files = [path for path in mode.folder.rglob("*") if path.suffix in {".py", ".md"}]
    left = [
        f"{path.name}:{number}: {line.strip()}"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if "FILL IN" in line
    ]

    assert not left, "Still the scaffold's:\n" + "\n".join(left)
