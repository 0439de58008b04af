"""Slack's incoming webhooks: https://api.slack.com/messaging/webhooks. Plain text in blocks has no markup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leadsman.notify.kind import Notification, NotificationKind
from leadsman.report.message.message import is_url, shortened
from leadsman.report.message.slack import entities

if TYPE_CHECKING:
    from leadsman.notify.destination import Destination
    from leadsman.notify.http import Exchange
    from leadsman.report.message.message import FindingMessage

MAX_HEADER, MAX_SECTION = 150, 3000
"""Characters of a header block and of a section (Slack, Block Kit reference)."""


def _deliver(exchange: Exchange, destination: Destination, notification: Notification) -> None:
    exchange.post(destination.url, _document(notification.message))


def _document(message: FindingMessage) -> dict[str, Any]:
    """Return the message; `text` is what a telephone shows."""
    steps = "\n".join(f"{number}. {step}" for number, step in enumerate(message.do_now, 1))
    proof = "\n".join(f"{line.where}\n    {line.text}" for line in message.proof)
    blocks = [
        {"type": "header", "text": _plain(message.title, MAX_HEADER)},
        {"type": "section", "text": _plain("\n".join(message.facts), MAX_SECTION)},
        *([{"type": "section", "text": _plain(f"Do now:\n{steps}", MAX_SECTION)}] if steps else []),
        *([_code(proof)] if proof else []),
        *([_page(message.page_url)] if message.page_url else []),
    ]
    return {"text": entities(message.title), "blocks": blocks, "unfurl_links": False, "unfurl_media": False}


def _plain(text: str, limit: int) -> dict[str, Any]:
    return {"type": "plain_text", "text": shortened(text, limit), "emoji": False}


def _code(text: str) -> dict[str, Any]:
    code = {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": shortened(text, MAX_SECTION)}]}
    return {"type": "rich_text", "elements": [code]}


def _page(location: str) -> dict[str, Any]:
    if not is_url(location):
        return {"type": "section", "text": _plain(f"Report: {location}", MAX_SECTION)}
    return {"type": "section", "text": {"type": "mrkdwn", "text": f"<{entities(location)}|Report>", "verbatim": True}}


KIND = NotificationKind(deliver=_deliver, example="https://hooks.slack.com/services/T/B/X")
