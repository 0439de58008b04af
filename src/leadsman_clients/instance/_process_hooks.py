"""Fork and exit hooks for all providers of a process."""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from typing import Protocol

NEVER_CLOSED: list[object] = []
"""Instances that this process must neither use nor close, such as those inherited by a fork. They stay referenced, so
that the garbage collector does not close them either: closing an inherited librdkafka handle takes a second, or hangs
for ever with records queued."""


class Registered(Protocol):
    """A provider or registry whose hooks are called. `registration` is its number: locks are taken in that order."""

    registration: int

    def before_fork(self) -> None:
        """Take the locks."""

    def after_fork_in_parent(self) -> None:
        """Release the locks."""

    def after_fork_in_child(self) -> None:
        """Start anew, without touching what was inherited."""

    def at_exit(self) -> None:
        """Flush and close in bounded time, without starting a thread."""


class _ProcessHooks:
    """All providers alive. The hooks are set with the first provider, so that nothing happens at import."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.providers: weakref.WeakSet[Registered] = weakref.WeakSet()
        self.registrations = 0
        self.are_set = False
        self.forking: list[Registered] = []

    def register(self, provider: Registered) -> int:
        with self.lock:
            self.registrations += 1
            self.providers.add(provider)
            if not self.are_set:
                self.are_set = True
                os.register_at_fork(before=self.before, after_in_parent=self.in_parent, after_in_child=self.in_child)
                atexit.register(self.at_exit)
            return self.registrations

    def before(self) -> None:
        self.lock.acquire()
        self.forking = sorted(self.providers, key=lambda provider: provider.registration)
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


_HOOKS = _ProcessHooks()


def register(provider: Registered) -> int:
    """Call the hooks of `provider` at forks and at exit, for as long as it lives; return its registration number."""
    return _HOOKS.register(provider)
