"""Jira, Cloud and Data Center: an issue for each finding, once. The finding's id is a label of the issue.

Jira Cloud searches at `search/jql`, Data Center at `search`. Version 2 of the interface creates issues on both:
https://developer.atlassian.com/cloud/jira/platform/rest/v2/api-group-issues/
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from leadsman.errors import NotificationFailed
from leadsman.notify.http import basic
from leadsman.notify.kind import Notification, NotificationKind
from leadsman.report.message.jira_wiki import jira_text
from leadsman.report.message.message import shortened

if TYPE_CHECKING:
    from leadsman.notify.destination import Destination
    from leadsman.notify.http import Exchange

MAX_SUMMARY = 255
API = "rest/api/2"
SEARCHES = ("search/jql", "search")
NO_SUCH_PATH = (404, 405)
PROJECT_KEY_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"


def _deliver(exchange: Exchange, destination: Destination, notification: Notification) -> None:
    if notification.is_resolved:
        return  # whether the issue is done is for people to say
    if not _is_found(exchange, destination, notification):
        exchange.post(f"{destination.base}/{API}/issue", _issue(destination, notification), _headers(destination))


def _headers(destination: Destination) -> dict[str, str]:
    """Return the credentials: mail and token on Cloud; a token alone, which Data Center calls personal access token."""
    if not destination.password:
        return {"Authorization": f"Bearer {destination.user}"}
    return basic(destination.user, destination.password)


def _is_found(exchange: Exchange, destination: Destination, notification: Notification) -> bool:
    jql = f'project = "{destination.parameter("project")}" AND labels = "{notification.id}"'
    parameters = urlencode({"jql": jql, "maxResults": 1, "fields": "key"})
    for path in SEARCHES:
        try:
            found = exchange.get(f"{destination.base}/{API}/{path}?{parameters}", _headers(destination)).json()
        except NotificationFailed as error:
            if error.status in NO_SUCH_PATH and path != SEARCHES[-1]:
                continue
            raise
        if not isinstance(found, dict) or "issues" not in found:
            raise NotificationFailed("the answer is no result of a search", is_final=True)
        return bool(found["issues"])
    return False


def _issue(destination: Destination, notification: Notification) -> dict[str, Any]:
    return {
        "fields": {
            "project": {"key": destination.parameter("project")},
            "issuetype": {"name": destination.parameter("type", "Task")},
            "summary": shortened(notification.message.title, MAX_SUMMARY),
            "description": jira_text(notification.message),
            "labels": ["leadsman", notification.id],
        }
    }


def _lacks_project(destination: Destination) -> bool:
    key = destination.parameter("project")
    return not key or not set(key) <= set(PROJECT_KEY_CHARACTERS)


KIND = NotificationKind(
    deliver=_deliver,
    example="https://USER:TOKEN@SITE.atlassian.net/?project=KEY&type=Task",
    needs_credentials=True,
    is_keyed=True,
    lacks=_lacks_project,
)
