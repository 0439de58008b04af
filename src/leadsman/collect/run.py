"""Runs plain commands: bounded in time, in the C locale, their output line by line."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from typing import TYPE_CHECKING

from leadsman.collect.collector import CouldNotBeHad

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import timedelta

SYSTEM = ("/usr/sbin", "/sbin", "/usr/local/sbin")
"""Where `ss`, `ip` and `sysctl` are on hosts whose users have no such folder on PATH."""

COMPLAINT_LINES = 10
COMPLAINT_LENGTH = 400
"""Of what a command complains, the beginning is kept: it says why, where a stack trace does not."""


def output(argv: Sequence[str], *, within: timedelta) -> Iterator[str]:
    """Yield a command's standard output line by line; CouldNotBeHad where there is no such program or it fails."""
    environment = {**os.environ, "LC_ALL": "C"}
    path = os.pathsep.join((environment.get("PATH", os.defpath), *SYSTEM))
    program = shutil.which(argv[0], path=path)
    if program is None:
        raise CouldNotBeHad(f"There is no program {argv[0]} here")
    with subprocess.Popen(
        [program, *argv[1:]],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
        errors="surrogateescape",
    ) as running:
        late = threading.Timer(within.total_seconds(), running.kill)
        late.start()
        complaint: list[str] = []
        listener = threading.Thread(target=_listen, args=(running, complaint), daemon=True)
        listener.start()
        try:
            assert running.stdout is not None
            yield from running.stdout
            code = running.wait()
            listener.join()
        finally:
            overdue = not late.is_alive()
            late.cancel()
            running.kill()
    if code:
        why = "".join(complaint).strip()[:COMPLAINT_LENGTH] or f"It ended with exit code {code}"
        raise CouldNotBeHad(f"It took longer than {within.total_seconds():g} s" if overdue else why)


def _listen(running: subprocess.Popen[str], heard: list[str]) -> None:
    assert running.stderr is not None
    for line in running.stderr:
        if len(heard) < COMPLAINT_LINES and not line.startswith("\tat "):
            heard.append(line)
