"""Logs how long the parts of a diagnosis take, for LEADSMAN_DEBUG. A task returns its timings to the driver."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = logging.getLogger("leadsman")
LOG = logging.getLogger(__name__)


@contextmanager
def timed(part: str) -> Iterator[None]:
    """Log how long the block took. Frames are lazy: the time of a detector's query counts for a later part."""
    started = time.perf_counter()
    try:
        yield
    finally:
        LOG.debug("%s: %.2f s", part, time.perf_counter() - started)


@contextmanager
def collected_timings() -> Iterator[list[str]]:
    """Collect the messages that this process logs in the block, on any level."""
    lines: list[str] = []

    class TimingHandler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    collector, level = TimingHandler(), ROOT.level
    ROOT.addHandler(collector)
    ROOT.setLevel(logging.DEBUG)
    try:
        yield lines
    finally:
        ROOT.removeHandler(collector)
        ROOT.setLevel(level)
