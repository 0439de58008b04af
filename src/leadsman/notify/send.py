"""Sends all notifications: each destination in a thread of its own, at most three attempts each, 30 s in all."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leadsman.errors import NotificationFailed
from leadsman.model import finding_id
from leadsman.notify.http import Exchange
from leadsman.notify.kind import Notification, find_kind
from leadsman.report.message.message import message_about, present_findings
from leadsman.words import count

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leadsman.model import Diagnosis
    from leadsman.notify.destination import Destination

ALL_SECONDS = 30.0
"""For all notifications of a call: the diagnosis is printed, and a person or a pipeline waits for the exit code."""

ATTEMPTS = 3
FIRST_PAUSE_SECONDS = 1.0
"""Before the second attempt; twice that before the third."""

TOO_LATE = f"not finished within {ALL_SECONDS:g} s"


@dataclass(slots=True)
class _DestinationDelivery:
    """One destination: what it has accepted so far, and why it did not accept the rest."""

    destination: Destination
    notifications: Sequence[Notification]
    sent: int = 0
    failures: list[str] = field(default_factory=list)

    def run(self, deadline: float) -> None:
        """Send one after another."""
        kind = find_kind(self.destination.kind)
        exchange = Exchange(destination=self.destination, deadline=deadline)
        for each in self.notifications:
            if time.monotonic() >= deadline:
                self.failures.append(TOO_LATE)
                return
            try:
                _with_retries(lambda each=each: kind.deliver(exchange, self.destination, each), deadline)  # type: ignore[misc]
                self.sent += 1
            except NotificationFailed as error:
                self.failures.append(str(error))
            except Exception as error:  # noqa: BLE001 - a thread's edge: a fault of a receiver's answer costs its own line
                self.failures.append(f"internal error: {type(error).__name__}")

    def report(self, *, is_finished: bool) -> str:
        """Return one line about what was not sent; empty where all was."""
        missing = len(self.notifications) - self.sent
        if not missing:
            return ""
        reasons = dict.fromkeys([*self.failures, *([] if is_finished else [TOO_LATE])])
        what = count(missing, "notification|notifications")
        return f"Not sent: {what} of {len(self.notifications)} to {self.destination.name}: {'; '.join(reasons)}."


def send_notifications(
    diagnoses: Sequence[Diagnosis],
    destinations: Sequence[Destination],
    *,
    page_url: str = "",
    seconds: float = ALL_SECONDS,
) -> list[str]:
    """Send a message about each PRESENT finding to each destination; return one line for each that did not get all.

    A thread that is still in a system call at the deadline, such as the resolving of a name, is left behind.
    """
    notifications = [
        Notification(
            id=finding_id(diagnosis, finding.mode),
            message=message_about(diagnosis, finding, page_url=page_url),
        )
        for diagnosis, finding in present_findings(diagnoses)
    ]
    deadline = time.monotonic() + seconds
    deliveries = [_DestinationDelivery(each, notifications) for each in destinations]
    threads = [threading.Thread(target=each.run, args=(deadline,), daemon=True) for each in deliveries]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    lines = [each.report(is_finished=not thread.is_alive()) for each, thread in zip(deliveries, threads, strict=True)]
    return [line for line in lines if line]


def _with_retries(deliver: Callable[[], None], deadline: float) -> None:
    """Call `deliver` until it succeeds, fails for good, or no time or attempt is left."""
    pause = FIRST_PAUSE_SECONDS
    for attempt in range(1, ATTEMPTS + 1):
        try:
            deliver()
        except NotificationFailed as error:
            wait = max(pause, error.retry_after_seconds)
            if error.is_final or attempt == ATTEMPTS or time.monotonic() + wait >= deadline:
                attempts = count(attempt, "attempt|attempts")
                raise NotificationFailed(f"{error}, after {attempts}", is_final=True) from error
            time.sleep(wait)  # reason: the pause before the next attempt
            pause *= 2
        else:
            return
