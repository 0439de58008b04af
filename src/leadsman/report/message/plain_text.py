"""Writes a message as lines of plain text, for receivers without markup."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.report.message.message import FindingMessage


def plain_text(message: FindingMessage) -> str:
    """Return the message without its title, which every receiver shows by itself."""
    return "\n".join(_lines(message))


def _lines(message: FindingMessage) -> Iterator[str]:
    yield from message.facts
    if message.do_now:
        yield "Do now:"
    yield from (f"{number}. {step}" for number, step in enumerate(message.do_now, 1))
    if message.proof:
        yield "Proof:"
    for line in message.proof:
        yield line.where
        yield f"    {line.text}"
    if message.page_url:
        yield f"Report: {message.page_url}"
