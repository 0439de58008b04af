"""Finds all processes of a run by a variable of their environment, also those that left its process group."""

from __future__ import annotations

from contextlib import suppress

import psutil

MARK = "LEADSMAN_LAB_RUN"
"""The variable, whose value is the run's own."""


def marked_processes(mark: str) -> list[psutil.Process]:
    """Return the processes of a run that have not ended."""
    return [process for process in psutil.process_iter() if _has_mark(process, mark)]


def process_name(process: psutil.Process) -> str:
    """Return the name of a process; "ended" where it has."""
    with suppress(psutil.Error):
        return str(process.name())
    return "ended"


def _has_mark(process: psutil.Process, mark: str) -> bool:
    try:
        return process.environ().get(MARK) == mark and bool(process.status() != psutil.STATUS_ZOMBIE)
    except (psutil.Error, OSError):
        return False
