"""Alertmanager's API v2: https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from leadsman.notify.http import basic
from leadsman.notify.kind import Notification, NotificationKind
from leadsman.prevent.alerts.alert import Severity
from leadsman.prevent.alerts.rules import MARK
from leadsman.report.message.message import in_utc, is_url
from leadsman.report.message.plain_text import plain_text

if TYPE_CHECKING:
    from leadsman.notify.destination import Destination
    from leadsman.notify.http import Exchange

ALERT_NAME = "LeadsmanFindingPresent"

LASTS = timedelta(hours=4)
"""A diagnosis is one look, and no later call ends the alert. Four hours is the repeat interval of pages in the
generated routes (`leadsman alerts`): the alert is sent once, and does not stay for ever. A watch sends it again while
the finding is open, and ends it when the finding is resolved."""


def _deliver(exchange: Exchange, destination: Destination, notification: Notification) -> None:
    headers = basic(destination.user, destination.password)
    exchange.post(f"{destination.base}/api/v2/alerts", [_alert(notification, datetime.now(UTC))], headers)


def _alert(notification: Notification, now: datetime) -> dict[str, Any]:
    """Return the alert. `finding` keeps findings of one mode in several captures apart; empty labels are none."""
    message = notification.message
    labels = {"alertname": ALERT_NAME, "mode": message.mode, "cluster": message.cluster, "finding": notification.id}
    begin = in_utc(message.since) if message.since else now
    return {
        "labels": {**{name: value for name, value in labels.items() if value}, "severity": Severity.PAGE, **MARK},
        "annotations": {"summary": message.title, "description": plain_text(message)},
        "startsAt": min(begin, now).isoformat(),
        "endsAt": (now if notification.is_resolved else now + LASTS).isoformat(),
        **({"generatorURL": message.page_url} if is_url(message.page_url) else {}),
    }


KIND = NotificationKind(
    deliver=_deliver,
    example="http://alertmanager:9093",
    is_keyed=True,
    groups=True,
    refreshed_every=LASTS / 4,
)
