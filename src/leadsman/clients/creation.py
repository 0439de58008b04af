"""One instance in the making: whoever needs it waits for the same one, and nobody waits for ever."""

from __future__ import annotations

import contextvars
import threading
from typing import TYPE_CHECKING, Generic, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from leadsman.clients.clock import Clock

T = TypeVar("T")


class Creation(Generic[T]):
    """A call of the creator in a thread of its own, so that one that hangs can be given up."""

    __slots__ = ("_create", "began", "done", "error", "given_up", "thread", "value")

    def __init__(self, create: Callable[[], T], clock: Clock) -> None:
        self._create = create
        self.began = clock.read()
        self.done = threading.Event()
        self.error: BaseException | None = None
        self.value: T | None = None
        self.given_up = False
        """Nobody waits any more: what comes late is retired unused."""
        self.thread: threading.Thread | None = None

    def start(self, name: str, finish: Callable[[Creation[T]], None]) -> None:
        """Call the creator; then `finish`, in that same thread, with the value or the error set."""
        context = contextvars.copy_context()  # tracing and logging contexts of the caller hold for the creator too
        self.thread = threading.Thread(target=context.run, args=(self._run, finish), name=f"{name}-create", daemon=True)
        self.thread.start()

    def _run(self, finish: Callable[[Creation[T]], None]) -> None:
        try:
            self.value = self._create()
        except BaseException as error:  # noqa: BLE001 (handed on to those who wait)
            self.error = error
        finish(self)
        self.done.set()

    def brought(self) -> T:
        """Return the instance of a creation that ended well."""
        return cast("T", self.value)
