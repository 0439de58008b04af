"""Calls a function of the lab in another network namespace, in a process there, and returns its result."""

from __future__ import annotations

import json
import sys
import tempfile
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from leadsman.errors import LabError
from leadsman.interrupt import defer_interrupts
from leadsman.lab.processes.program import SOURCES, NetworkNamespace, Program

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

DONE_TIMEOUT = timedelta(seconds=150)
"""Longer than the timeouts of any called function, so that the function itself reports its failure."""


def call(namespace: NetworkNamespace, function: Callable[..., T], **arguments: object) -> T:
    """Call a module's function there, with arguments that fit JSON; LabError with the end of its log if it fails.

    The lab itself stays in this machine's network: without root it could not leave another namespace again.
    """
    if namespace.is_host:
        return function(**arguments)
    target = f"{function.__module__}:{function.__name__}"
    command = [sys.executable, "-m", "leadsman.lab.processes.netns_call", target, json.dumps(arguments)]
    with tempfile.TemporaryDirectory(prefix="leadsman-netns-call-") as scratch, defer_interrupts():
        errors = Path(scratch) / "errors"
        environment = {"PYTHONPATH": str(SOURCES)}
        with Program.start(
            target,
            command,
            folder=Path(scratch),
            errors=errors,
            environment=environment,
            netns_entry=namespace.netns_entry,
        ) as program:
            stdout, _ = program.popen.communicate(timeout=DONE_TIMEOUT.total_seconds())
            if program.popen.returncode:
                raise LabError(errors.read_text(encoding="utf-8", errors="replace").strip().rpartition("\n")[2])
    result: T = json.loads(stdout)
    return result


def main(target: str, arguments: str) -> None:
    """Call the function, and print its result as JSON."""
    module, _, name = target.partition(":")
    sys.stdout.write(json.dumps(getattr(import_module(module), name)(**json.loads(arguments))))


if __name__ == "__main__":
    main(*sys.argv[1:])
