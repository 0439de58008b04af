"""A program of the workload: commands on its standard input, reports in lines of JSON on its standard output."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from leadsman.errors import LabError
from leadsman.lab.processes.program import PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import timedelta
    from pathlib import Path

    from leadsman.lab.processes.program import Program


@dataclass(slots=True, kw_only=True)
class ReportingProgram:
    """A running program and its log. As a context manager it is killed at the end."""

    quit_within: ClassVar[timedelta]
    name: str
    program: Program
    log: Path

    def quit(self) -> None:
        """Let it end in order, so that its last lines are in its log."""
        self.program.write_line("quit")
        with suppress(LabError):
            self.program.wait_for_exit(timeout=self.quit_within)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.program.kill()


def read_reports(program: Program) -> Iterator[dict[str, Any]]:
    """Yield each report of a program until it ends."""
    with suppress(ValueError, OSError):  # the lab killed the program, which closes its output
        for line in program.output:
            if line.startswith("{"):
                yield json.loads(line)


def log4j_options(log: Path) -> list[str]:
    """Return the options of a Java program that writes its log to this file."""
    return [f"-Dlog4j.configuration=file:{PROGRAMS / 'log4j.properties'}", f"-Dclient.log={log}"]
