"""`leadsman new-mode`, and what it must leave no trace of."""

import ast
import sys
from importlib import import_module
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from leadsman import modes
from leadsman.catalogue import Mode, every_mode
from leadsman.cli.commands.new_mode import TEMPLATES
from leadsman.gate.check import check_file
from leadsman.gate.rule import ModeRule
from leadsman.gate.sources import facts_of, read_source
from leadsman.model import State
from leadsman.pipeline.request import find_input, read_small_input
from leadsman.pipeline.spark.event_frames import event_frame

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
    assert sorted(path.relative_to(made).as_posix() for path in made.rglob("*.*")) == sorted(TEMPLATES.values())
    assert [path.name for path in made.parent.iterdir()] == ["sleepy_consumer"]


@pytest.mark.parametrize("part", sorted(name for name in TEMPLATES.values() if name.endswith(".py")))
def test_every_part_is_python_that_knows_its_name(made: Path, part: str) -> None:
    text = (made / part).read_text()

    ast.parse(text)
    assert "$" not in text


def test_what_to_do_next_is_reported(call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leadsman.cli.commands.new_mode.MODES", tmp_path / "modes")

    result = call("new-mode", "sleepy_consumer", "--into", tmp_path / "modes")

    assert "leadsman.lab.record_all sleepy_consumer" in result.out
    assert "FILL IN" in result.out


def test_its_programs_differ_in_one_setting(made: Path) -> None:
    broken, healthy = settings_of(made / "broken.py"), settings_of(made / "healthy.py")

    differing = {name for name in broken if broken[name] != healthy[name]}

    assert differing == {"delivery.timeout.ms"}


def test_its_card_its_rules_and_its_experiment_fit_one_another(made: Path, part) -> None:
    rule = part(".rules.delivery_timeout_below_restart").RULE
    rules = (ModeRule("delivery_timeout_below_restart", made.name, "", rule),)
    experiment = part(".scenario").EXPERIMENT

    (violation,) = check_file(str(made / "broken.py"), rules).violations
    assert check_file(str(made / "healthy.py"), rules).violations == []
    assert "delivery.timeout.ms" in violation.message
    assert experiment.mode == made.name
    assert {variant for variant, _ in experiment.recordings.values()} == experiment.variants.keys()
    assert [link.id for link in part("").MODE.chain] == ["cause", "symptom"]


@pytest.mark.spark
def test_its_detector_answers_as_those_of_the_real_modes_do(part, spark: SparkSession, recorded) -> None:
    real = every_mode()[0]
    events = event_frame(
        spark, read_small_input(find_input([str(recorded("near-miss-broker-restart-confluent-kafka"))]))
    )

    made, expected = part(".detector").detect(events), real.detect(events)

    assert dict(made.observations.dtypes) == dict(expected.observations.dtypes)
    assert dict(made.points.dtypes) == dict(expected.points.dtypes)
    assert {row["state"] for row in made.observations.collect()} <= {*State}


def settings_of(program: Path) -> dict[str, str | None]:
    source = read_source(str(program))
    assert source is not None
    (client,) = facts_of(str(program), *source).resources
    return {name: setting.value for name, setting in client.settings.items()}


@pytest.mark.parametrize("name", ["Idle", "idle-x", "2fast", "_idle", "idle__x", "", "class", "../idle", "ídle"])
def test_a_bad_name_is_refused(call, tmp_path: Path, name: str) -> None:
    result = call("new-mode", "--into", tmp_path / "modes", "--", name)

    assert result.code == 2
    assert "leaderless_partition" in result.err
    assert not (tmp_path / "modes").exists()


def test_an_existing_mode_is_left_alone(call) -> None:
    result = call("new-mode", "idle_disconnect")

    assert result.code == 2
    assert "idle_disconnect" in result.err


def test_a_folder_that_cannot_be_written_is_named(call) -> None:
    result = call("new-mode", "sleepy_consumer", "--into", "/proc/modes")

    assert result.code == 2
    assert "/proc/modes" in result.err
    assert "--into" in result.err


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
