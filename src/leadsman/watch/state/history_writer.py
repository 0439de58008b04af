"""Writes the history of findings to its targets in a thread: a round never waits for a table or a broker."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leadsman.watch.state.findings_file import FindingsFile
from leadsman.watch.state.history_table import publish

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from leadsman.watch.state.history_table import Target

RETRY_SECONDS = 30.0
"""After so long a target that failed is tried again, if no change comes before."""

CLOSE_SECONDS = 10.0
"""At Ctrl-C: what is not written by then is written by the next watch with the same --to folder."""


@dataclass(slots=True)
class HistoryWriter:
    """The thread's state. `log` takes one line for a person."""

    path: Path
    targets: Sequence[Target]
    log: Callable[[str], None]
    _due: threading.Event = field(default_factory=threading.Event)
    _is_over: bool = False
    _failing: set[str] = field(default_factory=set)

    def notify(self) -> None:
        """Let the thread write the changes that are in the file now."""
        self._due.set()

    def stop(self) -> None:
        """Let the thread write what is left, once, and end."""
        self._is_over = True
        self._due.set()

    def run(self) -> None:
        """Write what is new, until `stop`."""
        file = FindingsFile(self.path)
        try:
            while True:
                self._due.clear()
                is_last = self._is_over
                for target in self.targets:
                    self._publish(file, target)
                if is_last:
                    return
                self._due.wait(RETRY_SECONDS if self._failing else None)
        finally:
            file.close()

    def _publish(self, file: FindingsFile, target: Target) -> None:
        try:
            publish(file, target)
            self._failing.discard(target[0])
        except Exception as error:  # noqa: BLE001 - an edge: a broker that cannot be reached must not end the watch
            if target[0] not in self._failing:
                self.log(f"The history cannot be written to {target[0]}, and is written later: {error}")
            self._failing.add(target[0])


@contextmanager
def history_writer(path: Path, targets: Sequence[Target], log: Callable[[str], None]) -> Iterator[HistoryWriter]:
    """Run a writer; what is in the file already is written first."""
    writer = HistoryWriter(path, targets, log)
    thread = threading.Thread(target=writer.run, name="history", daemon=True)
    thread.start()
    try:
        yield writer
    finally:
        writer.stop()
        thread.join(CLOSE_SECONDS)
