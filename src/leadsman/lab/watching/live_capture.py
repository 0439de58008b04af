"""Makes the capture of a running experiment grow: its live logs are hard links there, under a capture's names."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from leadsman.lab.brokers import metrics_agent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leadsman.lab.run.run_context import RunContext


def link_logs(context: RunContext) -> None:
    """Add what was begun since the last call. A link is the file itself: the watch reads what a program writes."""
    for path, file in _live_files(context):
        link = context.recorder.folder / file
        if path.exists() and not link.exists():
            link.parent.mkdir(parents=True, exist_ok=True)
            os.link(path, link)


def remove_logs(context: RunContext) -> None:
    """Remove the links: the recorder writes the capture anew, and must not write into a log."""
    for folder in ("clients", "brokers", "jvm"):
        shutil.rmtree(context.recorder.folder / folder, ignore_errors=True)


def _live_files(context: RunContext) -> Iterator[tuple[Path, str]]:
    for program in (*list(context.workers.values()), *context.services.values()):
        yield program.log, f"clients/{program.name}.log"
    for node in context.cluster.nodes:
        for log in node.logs:
            yield log, f"{node.capture_folder}/{log.name}"
        yield node.folder / node.kind.settings, f"{node.capture_folder}/{node.kind.settings}"
        if node.metrics_port is not None:
            yield node.folder / metrics_agent.GC_LOG, f"jvm/broker-{node.id}/gc.log"
