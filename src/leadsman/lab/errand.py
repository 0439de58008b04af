"""Runs a function of the lab in the network of another place, as a program there, and hands back what it returned."""

from __future__ import annotations

import json
import sys
import tempfile
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from leadsman.errors import LabError
from leadsman.interrupt import undisturbed
from leadsman.lab.process import SOURCES, Place, Program

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

DONE_WITHIN = timedelta(seconds=150)
"""Longer than any function's own patience, so that it can say what happened."""


def run(place: Place, function: Callable[..., T], **arguments: object) -> T:
    """Call a function of a module with arguments that JSON can hold, there; LabError with its last words if it fails.

    The lab itself stays in this machine's network: whoever is not root could not come back out of another.
    """
    if place.here:
        return function(**arguments)
    called = f"{function.__module__}:{function.__name__}"
    command = [sys.executable, "-m", "leadsman.lab.errand", called, json.dumps(arguments)]
    with tempfile.TemporaryDirectory(prefix="leadsman-errand-") as scratch, undisturbed():
        errors = Path(scratch) / "errors"
        environment = {"PYTHONPATH": str(SOURCES)}
        with Program.start(
            called, command, folder=Path(scratch), errors=errors, environment=environment, way=place.way
        ) as program:
            printed, _ = program.popen.communicate(timeout=DONE_WITHIN.total_seconds())
            if program.popen.returncode:
                raise LabError(errors.read_text(encoding="utf-8", errors="replace").strip().rpartition("\n")[2])
    returned: T = json.loads(printed)
    return returned


def main(called: str, arguments: str) -> None:
    """Call the function, and print what it returns as JSON."""
    module, _, name = called.partition(":")
    sys.stdout.write(json.dumps(getattr(import_module(module), name)(**json.loads(arguments))))


if __name__ == "__main__":
    main(*sys.argv[1:])
