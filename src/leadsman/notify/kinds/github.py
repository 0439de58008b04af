"""GitHub: an issue for each finding, once: https://docs.github.com/rest/issues/issues.

The finding's id stands in the issue's body. The newest issues are read first, because GitHub's search shows an issue
only some time after its creation; then the search, for older ones. Closed issues count: they are not opened again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from leadsman.errors import NotificationFailed
from leadsman.notify.kind import Notification, NotificationKind
from leadsman.report.message.markdown import markdown_text
from leadsman.report.message.message import shortened

if TYPE_CHECKING:
    from leadsman.notify.destination import Destination
    from leadsman.notify.http import Exchange

MAX_TITLE = 256
NEWEST = 30
"""Issues on the one page that is read: more than are created while the search lags behind, a minute at most."""

VERSION = "2022-11-28"
"""Of GitHub's REST interface, by its date."""


def _deliver(exchange: Exchange, destination: Destination, notification: Notification) -> None:
    if notification.is_resolved:
        return  # whether the issue is done is for people to say
    headers = {
        "Authorization": f"Bearer {destination.password or destination.user}",
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": VERSION,
    }
    issues = f"{destination.base}/issues"
    if _is_among_newest(exchange, issues, headers, marker=_marker(notification)):
        return
    if _is_found(exchange, destination, headers, notification=notification):
        return
    exchange.post(issues, _issue(notification), headers)


def _marker(notification: Notification) -> str:
    """Return the last line of the body. It is no comment: the search does not read comments of HTML."""
    return f"leadsman finding {notification.id}"


def _is_among_newest(exchange: Exchange, issues: str, headers: dict[str, str], *, marker: str) -> bool:
    parameters = urlencode({"state": "all", "sort": "created", "direction": "desc", "per_page": NEWEST})
    found = exchange.get(f"{issues}?{parameters}", headers).json()
    if not isinstance(found, list):
        raise NotificationFailed("the answer is no list of issues", is_final=True)
    return any(marker in str(each.get("body")) for each in found if isinstance(each, dict))


def _is_found(
    exchange: Exchange, destination: Destination, headers: dict[str, str], *, notification: Notification
) -> bool:
    api, repository = _api_and_repository(destination)
    query = urlencode({"q": f'"{_marker(notification)}" in:body is:issue repo:{repository}', "per_page": 1})
    found = exchange.get(f"{api}/search/issues?{query}", headers).json()
    if not isinstance(found, dict):
        raise NotificationFailed("the answer is no result of a search", is_final=True)
    return bool(found.get("total_count"))


def _issue(notification: Notification) -> dict[str, Any]:
    text = markdown_text(notification.message)
    return {"title": shortened(notification.message.title, MAX_TITLE), "body": f"{text}\n`{_marker(notification)}`\n"}


def _api_and_repository(destination: Destination) -> tuple[str, str]:
    api, _, repository = destination.base.partition("/repos/")
    return api, repository


def _lacks_repository(destination: Destination) -> bool:
    owner, _, name = _api_and_repository(destination)[1].partition("/")
    return not owner or not name or "/" in name


KIND = NotificationKind(
    deliver=_deliver,
    example="https://TOKEN@api.github.com/repos/OWNER/NAME",
    needs_credentials=True,
    is_keyed=True,
    lacks=_lacks_repository,
)
