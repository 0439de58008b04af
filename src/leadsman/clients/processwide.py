"""What happens to all providers of a process at once: it forks, or it ends."""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from typing import Protocol

KEPT: list[object] = []
"""What a child process inherited and must neither use nor close. Kept, so that the garbage collector does not close it
either: closing an inherited librdkafka handle takes a second, or for ever with records queued."""


class Forkable(Protocol):
    """What is told of a fork and of the end. `birth` orders the locks."""

    birth: int

    def before_fork(self) -> None:
        """Take the locks."""

    def after_fork_in_parent(self) -> None:
        """Let go of them."""

    def after_fork_in_child(self) -> None:
        """Start anew, without touching what was inherited."""

    def at_exit(self) -> None:
        """Flush and close, within a bound, without starting a thread."""


class _Process:
    """All providers alive, and the hooks, which are set when the first one comes: nothing happens at import."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.providers: weakref.WeakSet[Forkable] = weakref.WeakSet()
        self.births = 0
        self.hooked = False
        self.forking: list[Forkable] = []

    def join(self, provider: Forkable) -> int:
        with self.lock:
            self.births += 1
            self.providers.add(provider)
            if not self.hooked:
                self.hooked = True
                os.register_at_fork(before=self.before, after_in_parent=self.in_parent, after_in_child=self.in_child)
                atexit.register(self.at_exit)
            return self.births

    def before(self) -> None:
        self.lock.acquire()
        self.forking = sorted(self.providers, key=lambda provider: provider.birth)
        for provider in self.forking:
            provider.before_fork()

    def in_parent(self) -> None:
        for provider in reversed(self.forking):
            provider.after_fork_in_parent()
        self.forking = []
        self.lock.release()

    def in_child(self) -> None:
        self.lock = threading.Lock()
        for provider in self.forking:
            provider.after_fork_in_child()
        self.forking = []

    def at_exit(self) -> None:
        for provider in list(self.providers):
            provider.at_exit()


_PROCESS = _Process()


def join(provider: Forkable) -> int:
    """Have `provider` told of forks and of the end, for as long as it lives; return its place in the order of birth."""
    return _PROCESS.join(provider)
