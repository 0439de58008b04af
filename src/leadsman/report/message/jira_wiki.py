"""Writes a message in Jira's wiki markup, in which no text of a log becomes markup, a link or a mention."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman.report.message.message import is_url

if TYPE_CHECKING:
    from leadsman.report.message.message import FindingMessage

SPECIAL = re.compile(r"([\\{}\[\]*_|^~!+?])")
BLOCK_START = re.compile(r"^(?=[-#])|^(?=h[1-6]\.)|^(?=bq\.)")
CODE_MACRO = re.compile(r"\{(?=noformat)", re.IGNORECASE)


def jira_text(message: FindingMessage) -> str:
    """Return the message without its title, which is the issue's summary."""
    parts = ["\n".join(map(escaped, message.facts))]
    if message.do_now:
        parts.append("\n".join(["*Do now*", *(f"# {escaped(step)}" for step in message.do_now)]))
    if message.proof:
        lines = "\n".join(f"{line.where}\n    {line.text}" for line in message.proof)
        parts.append(f"*Proof*\n{{noformat}}\n{CODE_MACRO.sub('{ ', lines)}\n{{noformat}}")
    if message.page_url:
        parts.append(f"Report: {_page(message.page_url)}")
    return "\n\n".join(parts)


def escaped(text: str) -> str:
    """Return one line of text in which Jira has nothing to format."""
    return BLOCK_START.sub(r"\\", SPECIAL.sub(r"\\\1", text))


def _page(location: str) -> str:
    return f"[{location}]" if is_url(location) and "]" not in location else escaped(location)
