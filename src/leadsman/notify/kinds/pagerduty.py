"""PagerDuty's Events API v2: https://developer.pagerduty.com/docs/send-alert-event. Dedup key: the finding's id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leadsman.notify.document import notification_document
from leadsman.notify.kind import Notification, NotificationKind
from leadsman.report.message.message import is_url, shortened

if TYPE_CHECKING:
    from leadsman.notify.destination import Destination
    from leadsman.notify.http import Exchange

MAX_SUMMARY = 1024
"""Characters of a summary, as PagerDuty documents."""


def _deliver(exchange: Exchange, destination: Destination, notification: Notification) -> None:
    exchange.post(destination.url, _event(destination.user, notification))


def _event(routing_key: str, notification: Notification) -> dict[str, Any]:
    message = notification.message
    return {
        "routing_key": routing_key,
        "event_action": "resolve" if notification.is_resolved else "trigger",
        "dedup_key": notification.id,
        "client": "leadsman",
        **({"links": [{"href": message.page_url, "text": "Report"}]} if is_url(message.page_url) else {}),
        "payload": {
            "summary": shortened(message.title, MAX_SUMMARY),
            "source": message.cluster or message.path,
            "severity": "critical",
            "component": "kafka",
            "class": message.mode,
            "custom_details": notification_document(notification),
        },
    }


KIND = NotificationKind(
    deliver=_deliver,
    example="https://ROUTING_KEY@events.pagerduty.com/v2/enqueue",
    needs_credentials=True,
    is_keyed=True,
)
