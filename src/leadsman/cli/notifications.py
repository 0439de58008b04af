"""`--notify`: destinations are checked before the diagnosis, failures are lines on standard error."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.cli.progress import progress
from leadsman.cli.terminal import echo
from leadsman.errors import UsageError
from leadsman.report.message.message import is_url
from leadsman.report.output_format import find_format

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leadsman.model import Diagnosis
    from leadsman.notify.destination import Destination


def notification_destinations(texts: Sequence[str], page_url: str | None) -> list[Destination]:
    """Return the destinations of --notify. UsageError where one, or the URL of the page, cannot be used."""
    if page_url and not is_url(page_url):
        raise UsageError("--notify-link takes an http or https URL, such as https://HOST/incident/report.html.")
    if not texts:
        return []
    from leadsman.notify.kind import destination_of  # urllib and TLS are loaded only now

    return [destination_of(text) for text in texts]


def notify(diagnoses: Sequence[Diagnosis], destinations: Sequence[Destination], *, page_url: str) -> None:
    """Send the messages, and print what could not be sent. The exit code stays that of the verdicts."""
    if not destinations:
        return
    from leadsman.notify.send import send_notifications

    with progress("Sending notifications"):
        lines = send_notifications(diagnoses, destinations, page_url=page_url)
    for line in lines:
        echo(f"leadsman: {line}", err=True)


def page_path(out: str | None) -> str:
    """Return the path of the page in --out; empty without --out."""
    return str((Path(out) / find_format("html").file).resolve()) if out else ""
