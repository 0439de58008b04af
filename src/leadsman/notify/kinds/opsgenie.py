"""Opsgenie's Alert API: https://docs.opsgenie.com/docs/alert-api. The finding's id is the alias, the alert's key.

Opsgenie renders HTML in messages and descriptions, so both are escaped.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from leadsman.notify.kind import Notification, NotificationKind
from leadsman.report.message.message import shortened
from leadsman.report.message.plain_text import plain_text

if TYPE_CHECKING:
    from leadsman.notify.destination import Destination
    from leadsman.notify.http import Exchange

MAX_MESSAGE, MAX_DESCRIPTION, MAX_SOURCE = 130, 15_000, 100
"""Characters, as Opsgenie documents."""


def _deliver(exchange: Exchange, destination: Destination, notification: Notification) -> None:
    headers = {"Authorization": f"GenieKey {destination.user}"}
    if notification.is_resolved:
        close = f"{destination.base}/{quote(notification.id)}/close?identifierType=alias"
        exchange.post(close, {"source": "leadsman", "note": notification.message.title}, headers)
        return
    exchange.post(destination.url, _alert(notification), headers)


def _alert(notification: Notification) -> dict[str, Any]:
    message = notification.message
    return {
        "message": _escaped(message.title, MAX_MESSAGE),
        "alias": notification.id,
        "description": _escaped(plain_text(message), MAX_DESCRIPTION),
        "tags": ["leadsman", message.mode],
        "details": {"mode": message.mode, "path": message.path, "cluster": message.cluster},
        "source": shortened(f"leadsman {message.path}", MAX_SOURCE),
        "priority": "P1",
    }


def _escaped(text: str, limit: int) -> str:
    """Return escaped text within the limit: the text is cut until what is escaped fits, so that no entity is cut."""
    room = limit
    while len(fitting := escape(shortened(text, room), quote=False)) > limit:
        room -= len(fitting) - limit
    return fitting


KIND = NotificationKind(
    deliver=_deliver, example="https://API_KEY@api.opsgenie.com/v2/alerts", needs_credentials=True, is_keyed=True
)
