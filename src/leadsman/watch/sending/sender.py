"""Sends the outbox of each destination in a thread of its own, again and again until it is accepted, a day at most."""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING

from leadsman.errors import NotificationFailed, StateError
from leadsman.notify.http import Exchange
from leadsman.notify.kind import find_kind
from leadsman.watch.sending.outbox import GIVEN_UP, SENT, ClaimedMessage, Outbox
from leadsman.watch.state.findings_file import FindingsFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from leadsman.notify.destination import Destination
    from leadsman.notify.kind import Notification

POLL_SECONDS = 0.5
REQUEST_SECONDS = 30.0
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 300.0
"""Between two attempts: a receiver that is back gets what waited within five minutes."""

GIVEN_UP_AFTER = timedelta(days=1)
"""A message that is older is no news."""

REFUSALS = 3
"""So often a receiver must refuse a message for good (HTTP 400, 403, 404) before the message is given up."""

CLOSE_SECONDS = 5.0
"""At Ctrl-C: what is not sent by then is sent by the next watch with the same --to folder."""


def destination_key(destination: Destination) -> str:
    """Return the name of a destination's outbox. Another password is the same receiver; the URL itself stays secret."""
    digest = blake2b(destination.url.encode(), digest_size=8).hexdigest()
    return f"{destination.name} {digest}"


@dataclass(slots=True)
class OutboxSender:
    """Sends to one destination. `log` takes one line for a person."""

    path: Path
    destination: Destination
    log: Callable[[str], None]
    stop: threading.Event = field(default_factory=threading.Event)
    sent: int = 0
    failed: int = 0
    given_up: int = 0
    waiting: int = 0
    _refreshed: float | None = None
    _is_failing: bool = False

    def run(self) -> None:
        """Send until `stop` is set, and then what can be sent at once."""
        file = FindingsFile(self.path)
        kind = find_kind(self.destination.kind)
        outbox = Outbox(file, destination_key(self.destination), is_keyed=kind.is_keyed, groups=kind.groups)
        try:
            while True:
                is_last = self.stop.is_set()
                pause = self._send_due(outbox)
                if is_last:
                    return
                self.stop.wait(pause)
        finally:
            file.close()

    def _send_due(self, outbox: Outbox) -> float:
        """Send what waits; return the seconds until the next look. A disk that is full is waited for."""
        try:
            return self._send_all(outbox)
        except (StateError, sqlite3.Error) as error:
            self.log(f"Messages to {self.destination.name} wait: {error}")
            return LONGEST_PAUSE_SECONDS / 10

    def _send_all(self, outbox: Outbox) -> float:
        """Send what waits; return the seconds until the next look."""
        while (outgoing := outbox.next(time.time())) is not None:
            if not self._send(outbox, outgoing):
                self.waiting = outbox.waiting()
                return min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** min(outgoing.attempts, 10))
        self.waiting = outbox.waiting()
        self._refresh(outbox)
        return POLL_SECONDS

    def _send(self, outbox: Outbox, outgoing: ClaimedMessage) -> bool:
        """Send one message; return whether the next one is due."""
        reason, is_final = self._deliver(outgoing.notification)
        if not reason:
            outbox.finish(outgoing, SENT, time.time())
            self.sent += 1
            if self._is_failing:
                self.log(f"Sent again to {self.destination.name}.")
            self._is_failing = False
            return True
        self.failed += 1
        outbox.count_attempt(outgoing)
        is_refused = is_final and outgoing.attempts + 1 >= REFUSALS
        if is_refused or datetime.now(UTC) - outgoing.since > GIVEN_UP_AFTER:
            outbox.finish(outgoing, GIVEN_UP, time.time())
            self.given_up += 1
            self.log(f"Given up: the message {outgoing.notification.key} to {self.destination.name}: {reason}.")
            return True
        if not self._is_failing:
            self.log(f"Not sent yet, and tried again: to {self.destination.name}: {reason}.")
        self._is_failing = True
        return False

    def _deliver(self, notification: Notification) -> tuple[str, bool]:
        """Return why a message was not accepted, empty where it was, and whether another attempt is no use."""
        exchange = Exchange(destination=self.destination, deadline=time.monotonic() + REQUEST_SECONDS)
        try:
            find_kind(self.destination.kind).deliver(exchange, self.destination, notification)
        except NotificationFailed as error:
            return str(error), error.is_final
        except Exception as error:  # noqa: BLE001 - a thread's edge: a fault of a receiver's answer costs this message
            return f"internal error: {type(error).__name__}", True
        return "", False

    def _refresh(self, outbox: Outbox) -> None:
        """Send what is open again, where the receiver would end it otherwise."""
        every = find_kind(self.destination.kind).refreshed_every
        if every is None:
            return
        if self._refreshed is not None and time.monotonic() - self._refreshed < every.total_seconds():
            return
        for each in outbox.open_notifications():
            if self.stop.is_set():
                return
            self._deliver(each)
        self._refreshed = time.monotonic()


@contextmanager
def senders(
    path: Path, destinations: Sequence[Destination], log: Callable[[str], None]
) -> Iterator[list[OutboxSender]]:
    """Run a sender for each destination, until the end of the block."""
    running = [OutboxSender(path, each, log) for each in destinations]
    threads = [threading.Thread(target=each.run, daemon=True) for each in running]
    for thread in threads:
        thread.start()
    try:
        yield running
    finally:
        for each in running:
            each.stop.set()
        deadline = time.monotonic() + CLOSE_SECONDS
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
