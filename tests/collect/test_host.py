"""`collect host` on this machine, whose kernel is a real one."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from click.testing import CliRunner

from leadsman.cli.commands.collect import command

if TYPE_CHECKING:
    from collections.abc import Callable

    from leadsman.pipeline.events import EventRow


def steal_now() -> float:
    """What the kernel says now was stolen of each processor, in seconds."""
    ticks = int(Path("/proc/stat").read_text(encoding="ascii").split(maxsplit=9)[8])
    return ticks / os.sysconf("SC_CLK_TCK") / (os.cpu_count() or 1)


def test_steal_time_is_written_at_each_look_and_read_back(
    rows: Callable[[Path], list[EventRow]], tmp_path: Path
) -> None:
    words = ["host", "--out", str(tmp_path / "c"), "--as", "kafka-3", "--repeat", "100ms", "--for", "2s"]
    before = steal_now()
    CliRunner().invoke(command, words, standalone_mode=False)
    after = steal_now()

    looks = [row for row in rows(tmp_path / "c") if row.name == "host.cpu_steal"]
    output = [row.value or 0.0 for row in looks]

    assert len(looks) >= 2
    assert {(row.subject, row.file) for row in looks} == {("kafka-3", "host/processors.txt")}
    assert len({row.at for row in looks}) == len(looks)
    assert [before, *output, after] == sorted([before, *output, after])


def test_the_printed_command_gives_the_same(rows: Callable[[Path], list[EventRow]], tmp_path: Path) -> None:
    printed = CliRunner().invoke(command, ["host", "--print-commands"], standalone_mode=False).output
    head, _, calls = printed.partition("\nitem ")
    (call,) = [line for line in calls.splitlines() if "host/processors.txt" in line]
    before = steal_now()
    output = subprocess.run(["sh", "-c", f"{head}\nitem {call.removeprefix('item ')}"], capture_output=True, check=True)
    after = steal_now()
    (tmp_path / "pasted.txt").write_bytes(output.stdout)

    (look,) = [row for row in rows(tmp_path) if row.name == "host.cpu_steal"]

    assert look.at is not None
    assert before <= (look.value or 0.0) <= after
