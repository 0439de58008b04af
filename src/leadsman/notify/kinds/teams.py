"""Microsoft Teams: a workflow "when a Teams webhook request is received", which takes an Adaptive Card.

Text runs of a card are not formatted, and a mention needs an entity, which no card of ours has:
https://learn.microsoft.com/power-automate/teams/overview and https://adaptivecards.io/explorer/RichTextBlock.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leadsman.notify.kind import Notification, NotificationKind
from leadsman.report.message.message import is_url

if TYPE_CHECKING:
    from leadsman.notify.destination import Destination
    from leadsman.notify.http import Exchange
    from leadsman.report.message.message import FindingMessage

CARD_TYPE = "application/vnd.microsoft.card.adaptive"
CARD_SCHEMA = "http://adaptivecards.io/schemas/adaptive-card.json"
CARD_VERSION = "1.4"
"""The newest that Teams shows on all its clients."""


def _deliver(exchange: Exchange, destination: Destination, notification: Notification) -> None:
    attachment = {"contentType": CARD_TYPE, "contentUrl": None, "content": _card(notification.message)}
    exchange.post(destination.url, {"type": "message", "attachments": [attachment]})


def _card(message: FindingMessage) -> dict[str, Any]:
    body = [
        _text(message.title, weight="Bolder", size="Large"),
        *(_text(fact, isSubtle=True) for fact in message.facts),
        *([_text("Do now", weight="Bolder")] if message.do_now else []),
        *(_text(f"{number}. {step}") for number, step in enumerate(message.do_now, 1)),
        *([_text("Proof", weight="Bolder")] if message.proof else []),
        *(_text(f"{line.where}\n{line.text}", fontType="Monospace") for line in message.proof),
    ]
    card = {"type": "AdaptiveCard", "$schema": CARD_SCHEMA, "version": CARD_VERSION, "msteams": {"width": "Full"}}
    if is_url(message.page_url):
        action = {"type": "Action.OpenUrl", "title": "Report", "url": message.page_url}
        return {**card, "body": body, "actions": [action]}
    return {**card, "body": [*body, _text(f"Report: {message.page_url}")] if message.page_url else body}


def _text(text: str, **style: object) -> dict[str, Any]:
    return {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text, **style}]}


KIND = NotificationKind(
    deliver=_deliver, example="https://HOST/workflows/ID/triggers/manual/paths/invoke?sig=SIGNATURE"
)
