"""Writes a message as Slack's mrkdwn, in which no text of a log becomes markup, a link or a mention."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman.report.message.message import is_url

if TYPE_CHECKING:
    from leadsman.report.message.message import FindingMessage

NO_WIDTH = "\u200b"
"""A space without width: mrkdwn has no escape for its own characters but `&`, `<` and `>`."""

MARKUP = re.compile(r"((?<!\w)[*_~`](?=\S)|(?<!\w)[@#](?=\w))")
"""Where a mark or a mention begins: never within a word, so names and options of commands stay as they are."""

FENCE = re.compile("`(?=`)")


def slack_text(message: FindingMessage) -> str:
    """Return the message as mrkdwn."""
    parts = ["\n".join([f"*{escaped(message.title)}*", *map(escaped, message.facts)])]
    if message.do_now:
        steps = (f"{number}. {escaped(step)}" for number, step in enumerate(message.do_now, 1))
        parts.append("\n".join(["*Do now*", *steps]))
    if message.proof:
        parts.append(f"*Proof*\n```\n{proof_text(message)}\n```")
    if message.page_url:
        parts.append(f"Report: {_page(message.page_url)}")
    return "\n\n".join(parts) + "\n"


def proof_text(message: FindingMessage) -> str:
    """Return the lines of evidence for a code block."""
    lines = "\n".join(f"{line.where}\n    {line.text}" for line in message.proof)
    return FENCE.sub(f"`{NO_WIDTH}", entities(lines))


def escaped(text: str) -> str:
    """Return text that Slack does not format."""
    return MARKUP.sub(rf"{NO_WIDTH}\1{NO_WIDTH}", entities(text))


def entities(text: str) -> str:
    """Return text with Slack's three control characters escaped: `<!channel>` is then text."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _page(location: str) -> str:
    return f"<{entities(location)}>" if is_url(location) else escaped(location)
