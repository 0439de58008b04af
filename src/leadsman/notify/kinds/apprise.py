"""Every other service that apprise knows, by apprise's own URLs: mail, ntfy, Discord, Telegram and a hundred more.

The named kinds do not go through it: apprise 2.2 sends Slack, PagerDuty and Opsgenie to hosts that it fixes, names
no reason of a failure, has no deadline for all messages, and no search before an issue is created.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from leadsman.errors import MissingExtra, NotificationFailed
from leadsman.installation import install_command
from leadsman.notify.kind import Notification, NotificationKind
from leadsman.report.message.plain_text import plain_text

if TYPE_CHECKING:
    from leadsman.notify.destination import Destination
    from leadsman.notify.http import Exchange

LIBRARY = "apprise"


def _deliver(_exchange: Exchange, destination: Destination, notification: Notification) -> None:
    from apprise import Apprise, AppriseAsset, NotifyFormat, NotifyType

    sender = Apprise(asset=AppriseAsset(app_id="leadsman", async_mode=False, http_redirects=False))
    if not sender.add(destination.url):
        raise NotificationFailed("apprise cannot read the URL", is_final=True)
    is_sent = sender.notify(
        title=notification.message.title,
        body=plain_text(notification.message),
        notify_type=NotifyType.FAILURE,
        body_format=NotifyFormat.TEXT,
    )
    if not is_sent:
        raise NotificationFailed("apprise could not send it (LEADSMAN_DEBUG=1 shows why)", is_final=False)


def _check() -> None:
    if find_spec(LIBRARY) is None:
        raise MissingExtra(f"--notify apprise needs {LIBRARY}. Install it: {install_command('notify')}")


KIND = NotificationKind(deliver=_deliver, example="ntfy://HOST/TOPIC", is_opaque=True, check=_check)
