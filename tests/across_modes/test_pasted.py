"""Pasted output of commands, in one folder per host, is diagnosed like the output of `collect`."""

import re
import shutil
from pathlib import Path

import pytest

from leadsman.catalogue import modes_named

pytestmark = pytest.mark.spark

(MODE,) = modes_named(["stale_neighbour"])
RECORDINGS = [pytest.param(folder, id=folder.name) for folder in MODE.recordings()]
SECTION = re.compile(r"### leadsman \S+ (\S+) host/(\w+)\.txt \$ [^\n]*\n(.*?)### leadsman exit 0\n", re.DOTALL)


@pytest.fixture(scope="module")
def verdicts(diagnosed, tmp_path_factory) -> dict[str, str]:
    """The diagnosis of the pasted output, by recording."""
    folders = {each.name: paste(each, tmp_path_factory.mktemp("pasted")) for each in MODE.recordings()}
    found = diagnosed(list(folders.values()), [MODE.name])
    return {name: one.verdicts[MODE.name].value for name, one in zip(folders, found, strict=True)}


def paste(recording: Path, to: Path) -> Path:
    """Paste the last output of each command of each host; logs and inventories are copied unchanged."""
    for part in ("clients", "brokers", "cloud"):
        shutil.copytree(recording / part, to / part)
    for file in (recording / "host").glob("*.txt"):
        for host, what, text in SECTION.findall(file.read_text()):
            (to / host).mkdir(exist_ok=True)
            (to / host / f"{what}.txt").write_text(text)
    return to


@pytest.mark.parametrize("recording", RECORDINGS)
def test_pasted_output_is_diagnosed_like_collected_output(recording, verdicts):
    expected = "PRESENT" if recording.name.startswith("broken") else "ABSENT"

    assert verdicts[recording.name] == expected
