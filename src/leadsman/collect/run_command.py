"""Runs commands with a timeout, in the C locale, and yields their output line by line."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from typing import TYPE_CHECKING

from leadsman.collect.collector import NotCollected

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import timedelta

SYSTEM_FOLDERS = ("/usr/sbin", "/sbin", "/usr/local/sbin")
"""Folders of `ss`, `ip` and `sysctl`: on some hosts they are not on a user's PATH."""

ERROR_LINES_KEPT = 10
ERROR_CHARACTERS_KEPT = 400
"""Of a command's standard error only the beginning is kept: the reason stands there, before any stack trace."""


def command_output(argv: Sequence[str], *, timeout: timedelta) -> Iterator[str]:
    """Yield a command's standard output line by line; NotCollected where the program does not exist or fails."""
    environment = {**os.environ, "LC_ALL": "C"}
    path = os.pathsep.join((environment.get("PATH", os.defpath), *SYSTEM_FOLDERS))
    program = shutil.which(argv[0], path=path)
    if program is None:
        raise NotCollected(f"There is no program {argv[0]} here")
    with subprocess.Popen(
        [program, *argv[1:]],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
        errors="surrogateescape",
    ) as running:
        timer = threading.Timer(timeout.total_seconds(), running.kill)
        timer.daemon = True  # after a Ctrl-C that comes before the next lines, Python would wait for the timer's end
        errors: list[str] = []
        reader = threading.Thread(target=_read_errors, args=(running, errors), daemon=True)
        try:
            timer.start()
            reader.start()
            assert running.stdout is not None
            yield from running.stdout
            code = running.wait()
            reader.join()
        finally:
            timed_out = not timer.is_alive()
            timer.cancel()
            running.kill()
    if code:
        why = "".join(errors).strip()[:ERROR_CHARACTERS_KEPT] or f"The command ended with exit code {code}"
        raise NotCollected(f"The command took longer than {timeout.total_seconds():g} s" if timed_out else why)


def _read_errors(running: subprocess.Popen[str], errors: list[str]) -> None:
    assert running.stderr is not None
    for line in running.stderr:
        if len(errors) < ERROR_LINES_KEPT and not line.startswith("\tat "):
            errors.append(line)
