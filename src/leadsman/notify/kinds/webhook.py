"""A webhook of your own: the document "leadsman.notification/1", with basic authentication where the URL has a user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.notify.document import notification_document
from leadsman.notify.http import basic
from leadsman.notify.kind import Notification, NotificationKind

if TYPE_CHECKING:
    from leadsman.notify.destination import Destination
    from leadsman.notify.http import Exchange


def _deliver(exchange: Exchange, destination: Destination, notification: Notification) -> None:
    headers = basic(destination.user, destination.password)
    exchange.post(destination.url, notification_document(notification), headers)


KIND = NotificationKind(deliver=_deliver, example="https://USER:PASSWORD@HOST/path", is_keyed=True)
