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
LINK = re.compile(r"\]\(([^)]+)\)")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages: leadsman and leadsman-clients out of their wheels, their dependencies by link."""
    folder = tmp_path_factory.mktemp("installed")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "wheels")]
    packages = folder / "packages"
    packages.mkdir()
    for source in (ROOT, ROOT / "packages" / "clients"):
        subprocess.run(build, cwd=source, check=True, capture_output=True)
    for wheel in (folder / "wheels").glob("*.whl"):
        zipfile.ZipFile(wheel).extractall(packages)
    for path in _needed(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]):
        (packages / path.name).symlink_to(path)
    return packages


@pytest.mark.parametrize("name", ["leadsman", "leadsman_clients"])
def test_the_page_of_a_release_has_no_link_into_the_repository_that_is_relative(installed: Path, name: str) -> None:
    (metadata_file,) = installed.glob(f"{name}-*.dist-info/METADATA")
    links = LINK.findall(metadata_file.read_text(encoding="utf-8"))

    assert [link for link in links if not link.startswith(("https://", "#"))] == []


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
    "words",
    ["--help", "--version", "modes", "explain idle_disconnect", "config", "diagnose --help", "alerts --out alerts"],
)
def test_what_needs_no_spark_works(light, words: str) -> None:
    result = light(*words.split())

    assert result.returncode == 0
    assert result.stdout
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("diagnose .", "spark"),
        ("diagnose . --set idle_disconnect.stall_seconds=3", "spark"),
        ("reproduce idle_disconnect", "lab"),
        ("demo", "lab"),
        ("setup", "spark"),
        ("check server", "lsp"),
    ],
)
def test_a_missing_part_is_answered_by_the_one_line_that_installs_it(light, words: str, part: str) -> None:
    result = light(*words.split())

    assert result.returncode == 2
    assert EXPECTED.findall(result.stderr) == [part]
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(("name", "code"), [("kafka.py", 0), ("kafka.java", 2), ("kafka.yml", 0)])
def test_the_gate_checks_python_and_yaml_without_the_extra(light, tmp_path: Path, name: str, code: int) -> None:
    (tmp_path / name).write_text("kafka = 1\n")

    result = light("check", "program", name)

    assert result.returncode == code
    assert EXPECTED.findall(result.stderr) == (["check"] if code else [])


def test_doctor_shows_how_to_get_every_missing_part(light) -> None:
    result = light("doctor")

    assert result.returncode == 1
    assert set(EXPECTED.findall(result.stdout)) >= {"spark", "lab"}


def test_config_names_where_the_thresholds_are(light) -> None:
    assert EXPECTED.findall(light("config").stdout) == ["spark"]


def test_a_mode_can_be_begun_from_an_installed_package(light, tmp_path: Path) -> None:
    result = light("new-mode", "sleepy_consumer", "--into", "modes")

    assert result.returncode == 0
    assert (tmp_path / "modes" / "sleepy_consumer" / "scenario.py").is_file()


def _needed(requirements: list[str]) -> list[Path]:
    """The top-level files and folders of the distributions that the requirements name, and of theirs."""
    seen: dict[str, metadata.Distribution] = {}
    pending = [requirement for requirement in requirements if requirement != "leadsman-clients"]
    while pending:
        requirement = Requirement(pending.pop())
        requested = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if requested and requirement.name not in seen:
            seen[requirement.name] = metadata.distribution(requirement.name)
            pending += seen[requirement.name].requires or []
    return sorted({path for each in seen.values() for path in _top_level(each)})


def _top_level(distribution: metadata.Distribution) -> Iterator[Path]:
    for file in distribution.files or []:
        if file.parts[0] not in {"..", "__pycache__"}:
            yield Path(str(distribution.locate_file(file.parts[0])))
