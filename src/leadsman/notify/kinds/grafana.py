"""Grafana's annotations: https://grafana.com/docs/grafana/latest/developers/http_api/annotations/.

An annotation is of no dashboard: those that `leadsman dashboards` writes show it by its tags. The finding's id is a
tag, by which a second message changes the annotation. Grafana renders HTML in texts, so they are escaped.
"""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from leadsman.errors import NotificationFailed
from leadsman.notify.kind import Notification, NotificationKind
from leadsman.prevent.dashboards.grafana import FINDING, TAG
from leadsman.report.message.message import in_utc
from leadsman.report.message.plain_text import plain_text

if TYPE_CHECKING:
    from leadsman.notify.destination import Destination
    from leadsman.notify.http import Exchange

PATH = "/api/annotations"


def _deliver(exchange: Exchange, destination: Destination, notification: Notification) -> None:
    headers = {"Authorization": f"Bearer {destination.password or destination.user}"}
    annotations = f"{destination.base}{PATH}"
    known = _known(exchange, annotations, headers, tags=[TAG, FINDING, notification.id])
    content = _annotation(notification, datetime.now(UTC))
    if known is None:
        exchange.post(annotations, content, headers)
    else:
        exchange.patch(f"{annotations}/{known}", content, headers)


def _known(exchange: Exchange, annotations: str, headers: dict[str, str], *, tags: list[str]) -> int | None:
    """Return the number of the annotation with these tags; None where there is none yet."""
    query = urlencode({"tags": tags, "type": "annotation", "limit": 1}, doseq=True)
    found = exchange.get(f"{annotations}?{query}", headers).json()
    if not isinstance(found, list):
        raise NotificationFailed("the answer is no list of annotations", is_final=True)
    numbers = [each.get("id") for each in found if isinstance(each, dict)]
    return next((each for each in numbers if isinstance(each, int)), None)


def _annotation(notification: Notification, now: datetime) -> dict[str, Any]:
    """Return the annotation: from the failure's first event to its last, in milliseconds since 1970."""
    message = notification.message
    begin, end = (min(in_utc(each), now) if each else now for each in (message.since, message.until))
    tags = [TAG, FINDING, notification.id, message.mode, *([message.cluster] if message.cluster else [])]
    text = f"{escape(message.title)}\n{escape(plain_text(message))}"
    return {"time": _milliseconds(begin), "timeEnd": _milliseconds(max(begin, end)), "tags": tags, "text": text}


def _milliseconds(time: datetime) -> int:
    return round(time.timestamp() * 1000)


KIND = NotificationKind(
    deliver=_deliver, example="https://TOKEN@grafana.acme.com", needs_credentials=True, is_keyed=True
)
