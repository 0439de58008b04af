"""Text from elsewhere cannot act on the terminal: control characters are spelled out wherever a command writes them."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

import leadsman.cli
from leadsman.cli.terminal import echo

TITLE = "\x1b]0;pwn\x07\x9b31m\u202e"
"""What sets a terminal's title and colour, and turns the direction of writing."""

DOCUMENTS = {"changes.py": 1, "collect.py": 2, "sweep.py": 1, "doctor.py": 1, "terminal.py": 1}
"""Calls of click's own output: JSON, a script, a path for a program, a mark with a colour, and `echo` itself."""


def acts(text: str) -> list[str]:
    """The characters that a terminal would act on."""
    return [each for each in text if each not in "\n\t" and not each.isprintable()]


@pytest.mark.parametrize("err", [False, True])
def test_a_control_character_is_spelled_out(capsys: pytest.CaptureFixture[str], err: bool) -> None:  # noqa: FBT001 - pytest's
    echo(f"a{TITLE}\n\tb", err=err)

    out, errors = capsys.readouterr()
    assert (errors if err else out) == "a\\x1b]0;pwn\\x07\\x9b31m\\u202e\n\tb\n"


def test_commands_write_by_echo_alone() -> None:
    folder = Path(leadsman.cli.__file__).parent
    calls = [
        file.name
        for file in folder.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in {"echo", "secho"} and ast.unparse(node.value) == "click"
    ]

    assert {name: calls.count(name) for name in calls} == DOCUMENTS


def test_a_name_in_an_inventory_does_not_act(call, tmp_path: Path) -> None:
    instance = {"name": f"kafka-1{TITLE}", "scheduling": {"onHostMaintenance": TITLE, "automaticRestart": False}}
    (tmp_path / "instances.json").write_text(json.dumps([instance]), encoding="utf-8")

    result = call("check", "cloud", "instances.json")

    assert result.code == 1
    assert "kafka-1\\x1b" in result.out
    assert acts(result.out + result.err) == []


@pytest.mark.parametrize(
    "words",
    [
        ("diagnose", TITLE),
        ("check", "topics", TITLE),
        ("--config", TITLE, "config"),
        ("explain", TITLE),
        ("collect", "prometheus", TITLE),
        ("remedy", TITLE),
    ],
)
def test_an_error_does_not_act(call, words: tuple[str, ...]) -> None:
    result = call(*words)

    assert result.code == 2
    assert "x1b]0;pwn" in result.err
    assert acts(result.err) == []


def test_the_name_of_a_log_does_not_act(call, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / f"a{TITLE}\n.log").write_bytes(b"\x1f\x8b broken")

    result = call("collect", "logs", "logs", "--out", "c")

    assert "x1b]0;pwn" in result.err
    assert acts(result.err) == []
