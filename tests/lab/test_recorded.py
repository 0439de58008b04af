"""The recordings that ship: whole, small, and silent about the machine they were made on."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from leadsman.capture import read_manifest
from leadsman.catalogue import Mode, every_mode
from leadsman.model import Harm
from leadsman.modes.idle_disconnect import scenario

MODES = [pytest.param(mode, id=mode.name) for mode in every_mode()]
EVERY = [pytest.param(folder, id=f"{mode.name}-{folder.name}") for mode in every_mode() for folder in mode.recordings()]
LARGEST = 450_000
"""Bytes. A mode's dozen recordings are cloned by everybody."""

THIS_MACHINE = re.compile(rb"/root/|/home/|/work/|/usr/lib/python|leadsman-lab-|leadsman-workers-")


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("mode", MODES)
def test_every_recording_is_there_and_no_other(mode: Mode) -> None:
    assert [folder.name for folder in mode.recordings()] == sorted(mode.scenario.EXPERIMENT.recordings)


@pytest.mark.parametrize("folder", EVERY)
def test_a_recording_is_whole(folder: Path) -> None:
    manifest = read_manifest(folder)

    assert manifest is not None
    assert {item.file for item in manifest.items} | {"manifest.json"} == {
        path.relative_to(folder).as_posix() for path in files(folder)
    }
    assert manifest.recorded_from < manifest.recorded_until


@pytest.mark.parametrize("folder", EVERY)
def test_a_recording_is_small(folder: Path) -> None:
    assert sum(path.stat().st_size for path in files(folder)) <= LARGEST


@pytest.mark.parametrize("folder", EVERY)
def test_a_recording_has_nothing_of_this_machine(folder: Path) -> None:
    assert [path for path in files(folder) if THIS_MACHINE.search(path.read_bytes())] == []


@pytest.mark.parametrize("folder", [each for each in EVERY if "-near-miss-" not in str(each.id)])
def test_its_harm_is_that_of_its_name(folder: Path) -> None:
    harm = json.loads((folder.parent / "harm.json").read_text())[folder.name]

    endured = Mode(folder.parent.parent.name).scenario.EXPERIMENT.tolerated_harm
    harmed = any(harm.get(kind) for kind in Harm if kind not in endured)

    assert harmed == folder.name.startswith("broken-")


FOLDER = Path(scenario.__file__).parent / "recorded"
NAMES = sorted(scenario.EXPERIMENT.recordings)


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("near-miss-")])
def test_of_near_misses_a_broker_restart_harms(name: str) -> None:
    harm = json.loads((FOLDER / "harm.json").read_text())[name]

    harmed = any(harm[kind] for kind in ("lost", "duplicated", "delayed", "stalled"))

    assert harmed == name.startswith("near-miss-broker-restart-")


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("broken-")])
def test_the_busy_worker_of_a_broken_run_is_not_harmed(name: str) -> None:
    harm = json.loads((FOLDER / "harm.json").read_text())[name]

    assert "busy-1" not in harm["by_worker"]
    assert harm["lost"] + harm["delayed"] >= 4


@pytest.mark.parametrize("name", [name for name in NAMES if "broker-restart" in name])
def test_a_restart_stands_in_the_brokers_log(name: str) -> None:
    log = (FOLDER / name / "brokers" / "1" / "server.log").read_text()

    assert log.count("Kafka Server started") == 3
    assert "shutting down" in log
