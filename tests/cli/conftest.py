"""Calls of the command as a shell makes them: words in, exit code and output back."""

import os
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest

from leadsman.catalogue import MODES
from leadsman.cli.group import run

RECORDED = MODES / "idle_disconnect" / "recorded"


@dataclass(frozen=True, slots=True)
class Called:
    """What a call came to."""

    code: int
    out: str
    err: str


Call = Callable[..., Called]


def isolate(monkeypatch: pytest.MonkeyPatch, folder: Path, config: Path) -> None:
    """Stand in a folder without a leadsman.toml, with no LEADSMAN_ variable."""
    for name in [name for name in os.environ if name.startswith("LEADSMAN_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(config))


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of its own, without a leadsman.toml, and no LEADSMAN_ variable."""
    isolate(monkeypatch, tmp_path, tmp_path_factory.mktemp("config"))


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str]) -> Call:
    """Run `leadsman` with these words, in this process."""

    def calling(*words: object) -> Called:
        capfd.readouterr()
        code = run([str(word) for word in words])
        out, err = capfd.readouterr()
        return Called(code, out, err)

    return calling


@pytest.fixture(scope="session")
def call_once(tmp_path_factory: pytest.TempPathFactory) -> Call:
    """Run `leadsman` as `call` does, for fixtures of a module: one call of which several tests look at the result."""

    def calling(*words: object, folder: Path | None = None) -> Called:
        out, err = StringIO(), StringIO()
        with pytest.MonkeyPatch.context() as monkeypatch, redirect_stdout(out), redirect_stderr(err):
            isolate(monkeypatch, folder or tmp_path_factory.mktemp("alone"), tmp_path_factory.mktemp("config"))
            code = run([str(word) for word in words])
        return Called(code, out.getvalue(), err.getvalue())

    return calling


@pytest.fixture(scope="session")
def recorded() -> Callable[[str], Path]:
    """The folder of a recorded capture."""
    return lambda name: RECORDED / name
