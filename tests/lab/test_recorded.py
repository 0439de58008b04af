"""The recordings that ship: whole, small, and silent about the machine they were made on."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from leadsman.capture import read_manifest
from leadsman.modes.idle_disconnect import scenario

FOLDER = Path(scenario.__file__).parent / "recorded"
NAMES = sorted(scenario.EXPERIMENT.recordings)
LARGEST = 160_000
THIS_MACHINE = re.compile(r"/root/|/home/|/work/|/usr/lib/python|leadsman-lab-|leadsman-workers-")


def files(name: str) -> list[Path]:
    return [path for path in (FOLDER / name).rglob("*") if path.is_file()]


def test_every_recording_is_there_and_no_other() -> None:
    assert sorted(path.name for path in FOLDER.iterdir() if path.is_dir()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_is_whole(name: str) -> None:
    manifest = read_manifest(FOLDER / name)

    assert manifest is not None
    assert {item.file for item in manifest.items} | {"manifest.json"} == {
        path.relative_to(FOLDER / name).as_posix() for path in files(name)
    }
    assert manifest.recorded_from < manifest.recorded_until


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_is_small(name: str) -> None:
    assert sum(path.stat().st_size for path in files(name)) <= LARGEST


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_says_nothing_of_this_machine(name: str) -> None:
    assert [path for path in files(name) if THIS_MACHINE.search(path.read_text())] == []


@pytest.mark.parametrize("name", NAMES)
def test_its_harm_is_what_its_name_says(name: str) -> None:
    harm = json.loads((FOLDER / "harm.json").read_text())[name]

    harmed = any(harm[kind] for kind in ("lost", "duplicated", "delayed", "stalled"))

    assert harmed == name.startswith(("broken-", "near-miss-broker-restart-"))


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
