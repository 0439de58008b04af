"""Annotations of GitHub Actions: workflow commands on standard output."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from leadsman.gate.formats.text import printable

if TYPE_CHECKING:
    from leadsman.gate.check import Report


def write(report: Report, stream: TextIO) -> None:
    """Write one command per finding."""
    for each in report.violations:
        path = _property(each.path.removeprefix("./"))
        location = f"file={path},line={each.span.line},col={each.span.column},endLine={each.span.end_line}"
        message = _escape(f"{each.message}. {each.fix}")
        stream.write(f"::warning {location},title={_property(f'leadsman: {each.rule}')}::{message}\n")


def _escape(text: str) -> str:
    """Encode line breaks as GitHub does, so that they stay; other control characters could control a terminal."""
    text = "".join(each if each in "\r\n" else printable(each) for each in text)
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
