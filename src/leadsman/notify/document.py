"""A notification as JSON, for programs: what `webhook` sends, and what PagerDuty shows as details."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leadsman.report.message.message import in_utc

if TYPE_CHECKING:
    from datetime import datetime

    from leadsman.notify.kind import Notification

SCHEMA = "leadsman.notification/1"


def notification_document(notification: Notification) -> dict[str, Any]:
    """Return the document. Fields are added in later releases, never renamed within a schema's number."""
    message = notification.message
    return {
        "schema": SCHEMA,
        "id": notification.id,
        "mode": message.mode,
        "verdict": "PRESENT",
        **({"life": str(notification.life), "key": notification.key} if notification.life else {}),
        "title": message.title,
        "path": message.path,
        "cluster": message.cluster or None,
        "since": _time(message.since),
        "until": _time(message.until),
        "impact": message.impact or None,
        "do_now": list(message.do_now),
        "proof": [{"where": line.where, "text": line.text} for line in message.proof],
        "link": message.page_url or None,
    }


def _time(moment: datetime | None) -> str | None:
    return in_utc(moment).isoformat() if moment else None
