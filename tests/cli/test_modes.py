"""Commands that need no capture: modes, explain, doctor, completion."""

import os
import subprocess
import sys

import pytest

from leadsman.catalogue import Mode, every_mode
from leadsman.model import HARM_TEXTS

MODES = [pytest.param(mode, id=mode.name) for mode in every_mode()]


@pytest.mark.parametrize("mode", MODES)
def test_modes_lists_each_with_its_title_and_its_harm(call, mode: Mode) -> None:
    result = call("modes")

    assert result.code == 0
    assert f"{mode.name}  " in result.out
    assert mode.card.title in result.out
    assert ", ".join(HARM_TEXTS[harm] for harm in mode.card.harm) in result.out


@pytest.mark.parametrize("mode", MODES)
def test_explain_prints_the_whole_page(call, mode: Mode) -> None:
    result = call("explain", mode.name)

    headings = [line.removeprefix("## ") for line in mode.page.splitlines() if line.startswith("## ")]
    places = [result.out.index(heading) for heading in headings]
    assert result.code == 0
    assert places == sorted(places)
    assert "{{" not in result.out


def test_explaining_an_unknown_mode_names_those_there_are(call) -> None:
    result = call("explain", "nothing")

    assert result.code == 2
    assert all(mode.name in result.err for mode in every_mode())


def test_doctor_shows_what_is_there_and_what_each_missing_thing_is_for(call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "/nonexistent")

    result = call("doctor")

    assert result.code == 1
    assert "leadsman setup" in result.out
    assert "+ Spark" in result.out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_can_complete(shell: str) -> None:
    result = completing(f"{shell}_source")

    assert "_LEADSMAN_COMPLETE" in result


@pytest.mark.parametrize(
    ("words", "offered"), [("leadsman di", "diagnose"), ("leadsman explain idle_", "idle_disconnect")]
)
def test_commands_and_modes_are_completed(words: str, offered: str) -> None:
    result = completing("bash_complete", COMP_WORDS=words, COMP_CWORD=str(words.count(" ")))

    assert result.split(",")[-1].strip() == offered


def completing(what: str, **variables: str) -> str:
    environment = {**os.environ, **variables, "_LEADSMAN_COMPLETE": what}
    program = "from leadsman.cli import main; main()"
    call = [sys.executable, "-c", program]
    return subprocess.run(call, env=environment, capture_output=True, text=True, check=False).stdout
