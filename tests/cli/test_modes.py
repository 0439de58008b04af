"""What can be asked without a capture: modes, explanations, the machine, completion."""

import os
import subprocess
import sys

import pytest

from leadsman.catalogue import Mode, every_mode

MODES = [pytest.param(mode, id=mode.name) for mode in every_mode()]


@pytest.mark.parametrize("mode", MODES)
def test_modes_lists_each_with_its_title_and_its_harm(call, mode: Mode) -> None:
    told = call("modes")

    assert told.code == 0
    assert f"{mode.name}  " in told.out
    assert mode.card.title in told.out
    assert ", ".join(mode.card.harm) in told.out


@pytest.mark.parametrize("mode", MODES)
def test_explain_tells_the_whole_page(call, mode: Mode) -> None:
    told = call("explain", mode.name)

    headings = [line.removeprefix("## ") for line in mode.page.splitlines() if line.startswith("## ")]
    places = [told.out.index(heading) for heading in headings]
    assert told.code == 0
    assert places == sorted(places)
    assert "{{" not in told.out


def test_explaining_an_unknown_mode_names_those_there_are(call) -> None:
    told = call("explain", "nothing")

    assert told.code == 2
    assert all(mode.name in told.err for mode in every_mode())


def test_doctor_says_what_is_there_and_what_each_missing_thing_is_for(call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "/nonexistent")

    told = call("doctor")

    assert told.code == 1
    assert "leadsman setup" in told.out
    assert "+ Spark" in told.out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_can_complete(shell: str) -> None:
    told = completing(f"{shell}_source")

    assert "_LEADSMAN_COMPLETE" in told


@pytest.mark.parametrize(
    ("words", "offered"), [("leadsman di", "diagnose"), ("leadsman explain idle_", "idle_disconnect")]
)
def test_commands_and_modes_are_completed(words: str, offered: str) -> None:
    told = completing("bash_complete", COMP_WORDS=words, COMP_CWORD=str(words.count(" ")))

    assert told.split(",")[-1].strip() == offered


def completing(what: str, **variables: str) -> str:
    environment = {**os.environ, **variables, "_LEADSMAN_COMPLETE": what}
    program = "from leadsman.cli import main; main()"
    call = [sys.executable, "-c", program]
    return subprocess.run(call, env=environment, capture_output=True, text=True, check=False).stdout
