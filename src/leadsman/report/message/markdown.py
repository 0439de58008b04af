"""Writes a message as GitHub's Markdown, in which no text of a log becomes markup, a link or a mention."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman.report.message.message import is_url

if TYPE_CHECKING:
    from leadsman.report.message.message import FindingMessage

SPECIAL = re.compile(r"([\\`*_{}\[\]()~|!])")
BLOCK_START = re.compile(r"^(\s*(?:\d+(?=[.)])|(?=[-+=>#])))")
MENTION = re.compile(r"((?<!\w)@(?=\w)|(?:#|\bGH-)(?=\d))")
"""GitHub resolves mentions and numbers after Markdown, when backslashes are gone: a space without width parts them."""

NO_WIDTH = "\u200b"
MIN_FENCE = 3


def markdown_text(message: FindingMessage) -> str:
    """Return the message as Markdown."""
    parts = [f"### {escaped(message.title)}", *map(escaped, message.facts)]
    if message.do_now:
        parts.append("**Do now**")
        parts.append("\n".join(f"{number}. {escaped(step)}" for number, step in enumerate(message.do_now, 1)))
    if message.proof:
        parts.append("**Proof**")
        parts.append(code_block("\n".join(f"{line.where}\n    {line.text}" for line in message.proof)))
    if message.page_url:
        parts.append(f"Report: {_page(message.page_url)}")
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """Return one line of text in which Markdown has nothing to format."""
    safe = SPECIAL.sub(r"\\\1", text).replace("&", "&amp;").replace("<", "&lt;")
    return MENTION.sub(rf"\1{NO_WIDTH}", BLOCK_START.sub(r"\1\\", safe))


def code_block(text: str) -> str:
    """Return lines as code, in a fence that is longer than any in the text."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(MIN_FENCE, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _page(location: str) -> str:
    return f"<{location}>" if is_url(location) else escaped(location)
