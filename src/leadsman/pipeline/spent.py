"""How long the parts of a diagnosis take, for LEADSMAN_DEBUG. What a task notes of itself is handed to the driver."""

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
def spent(what: str) -> Iterator[None]:
    """Note how long the block took. Frames are computed late: what a detector only plans, a later part pays for."""
    started = time.perf_counter()
    try:
        yield
    finally:
        LOG.debug("%s: %.2f s", what, time.perf_counter() - started)


@contextmanager
def noted() -> Iterator[list[str]]:
    """Collect what is noted in this process meanwhile, on whatever level."""
    lines: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    keep, before = Keep(), ROOT.level
    ROOT.addHandler(keep)
    ROOT.setLevel(logging.DEBUG)
    try:
        yield lines
    finally:
        ROOT.removeHandler(keep)
        ROOT.setLevel(before)
