"""The light install: the wheel as it is published, with what it depends on and nothing else. No Spark, no clients."""

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
EXPECTED = re.compile(r"pip install 'leadsman\[(?P<part>\w+)\]'")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages: leadsman out of its wheel, and its dependencies by link."""
    folder = tmp_path_factory.mktemp("installed")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "wheel")]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    packages = folder / "packages"
    packages.mkdir()
    (wheel,) = (folder / "wheel").glob("*.whl")
    zipfile.ZipFile(wheel).extractall(packages)
    for path in _needed(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]):
        (packages / path.name).symlink_to(path)
    return packages


@pytest.fixture
def light(installed: Path, tmp_path: Path):
    """Call `leadsman` in a Python that sees those packages only."""

    def calling(*words: str) -> subprocess.CompletedProcess[str]:
        program = "from leadsman.cli import main; main()"
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(installed)}
        call = [sys.executable, "-S", "-s", "-c", program, *words]
        return subprocess.run(call, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    return calling


@pytest.mark.parametrize(
    "words", ["--help", "--version", "modes", "explain idle_disconnect", "config", "diagnose --help"]
)
def test_what_needs_no_spark_works(light, words: str) -> None:
    told = light(*words.split())

    assert told.returncode == 0
    assert told.stdout
    assert told.stderr == ""


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("diagnose .", "spark"),
        ("diagnose . --set idle_disconnect.stall_seconds=3", "spark"),
        ("reproduce idle_disconnect", "lab"),
        ("demo", "lab"),
        ("setup", "spark"),
    ],
)
def test_a_missing_part_is_answered_by_the_one_line_that_installs_it(light, words: str, part: str) -> None:
    told = light(*words.split())

    assert told.returncode == 2
    assert EXPECTED.findall(told.stderr) == [part]
    assert len(told.stderr.splitlines()) == 1


def test_doctor_says_how_to_get_every_missing_part(light) -> None:
    told = light("doctor")

    assert told.returncode == 1
    assert set(EXPECTED.findall(told.stdout)) >= {"spark", "lab"}


def test_config_says_where_the_thresholds_are(light) -> None:
    assert EXPECTED.findall(light("config").stdout) == ["spark"]


def test_a_mode_can_be_begun_from_an_installed_package(light, tmp_path: Path) -> None:
    told = light("new-mode", "sleepy_consumer", "--into", "modes")

    assert told.returncode == 0
    assert (tmp_path / "modes" / "sleepy_consumer" / "scenario.py").is_file()


def _needed(requirements: list[str]) -> list[Path]:
    """The top-level files and folders of the distributions that the requirements name, and of theirs."""
    seen: dict[str, metadata.Distribution] = {}
    pending = list(requirements)
    while pending:
        requirement = Requirement(pending.pop())
        wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if wanted and requirement.name not in seen:
            seen[requirement.name] = metadata.distribution(requirement.name)
            pending += seen[requirement.name].requires or []
    return sorted({path for each in seen.values() for path in _top_level(each)})


def _top_level(distribution: metadata.Distribution) -> Iterator[Path]:
    for file in distribution.files or []:
        if file.parts[0] not in {"..", "__pycache__"}:
            yield Path(str(distribution.locate_file(file.parts[0])))
