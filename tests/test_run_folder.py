"""Folders of one run: nothing of them is left, whenever Ctrl-C comes; and after a kill the next run removes them."""

from __future__ import annotations

import ast
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import leadsman
from leadsman.pipeline.spark.embedded import embedded_session
from leadsman.pipeline.spark.environment import TABLE_FOLDER
from leadsman.run_folder import run_folder


def test_ctrl_c_while_a_folder_is_removed_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cleanup = tempfile.TemporaryDirectory.cleanup

    def interrupted(folder: tempfile.TemporaryDirectory[str]) -> None:
        signal.raise_signal(signal.SIGINT)
        cleanup(folder)

    monkeypatch.setattr(tempfile.TemporaryDirectory, "cleanup", interrupted)
    with pytest.raises(KeyboardInterrupt), run_folder(tmp_path) as folder:
        (folder / "table").write_text("of a capture")

    assert not list(tmp_path.iterdir())


def test_ctrl_c_while_a_folder_is_made_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = tempfile.mkdtemp

    def interrupted(*arguments: str, **options: str) -> str:
        folder = make(*arguments, **options)
        signal.raise_signal(signal.SIGINT)
        return folder

    monkeypatch.setattr(tempfile, "mkdtemp", interrupted)
    with pytest.raises(KeyboardInterrupt), run_folder(tmp_path):
        pytest.fail("the block does not begin")

    assert not list(tmp_path.iterdir())


def test_a_worker_whose_driver_has_ended_makes_no_other_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TABLE_FOLDER, str(tmp_path / "gone"))
    with pytest.raises(FileNotFoundError), embedded_session():
        pytest.fail("there is no folder")


KILLED_WITH_A_PASSWORD = """
import os, signal, sys
from pathlib import Path
from leadsman.run_folder import run_folder
from leadsman.watch.kafka.client_settings import write_settings
with run_folder(Path(sys.argv[1])) as folder:
    write_settings(Path(sys.argv[2]), folder)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_after_a_kill_the_next_run_removes_the_password(tmp_path: Path) -> None:
    properties = tmp_path / "client.properties"
    properties.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required "
        'username="u" password="p4ss";\n'
    )
    memory = tmp_path / "memory"
    memory.mkdir()
    command = [sys.executable, "-c", KILLED_WITH_A_PASSWORD, str(memory), str(properties)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert "p4ss" in next(memory.rglob("librdkafka.json")).read_text()

    with run_folder(memory) as folder:
        assert list(memory.iterdir()) == [folder]


MAKERS = {"TemporaryDirectory", "mkdtemp", "NamedTemporaryFile", "mkstemp"}


def test_every_temporary_folder_is_one_of_the_run_or_lies_in_a_folder_that_was_chosen() -> None:
    source = Path(leadsman.__file__).parent
    unnamed = [
        f"{path.relative_to(source)}:{call.lineno}"
        for path in source.rglob("*.py")
        if "lab" not in path.relative_to(source).parts
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call)
        and ast.unparse(call.func).rpartition(".")[2] in MAKERS
        and "dir" not in {each.arg for each in call.keywords}
    ]

    assert unnamed == []
