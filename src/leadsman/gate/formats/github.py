"""Annotations of GitHub Actions: workflow commands on standard output."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from leadsman.gate.check import Report


def write(report: Report, stream: TextIO) -> None:
    """Write one command per finding."""
    for each in report.violations:
        place = f"file={_property(each.path)},line={each.span.line},col={each.span.column},endLine={each.span.end_line}"
        message = _escape(f"{each.message}. {each.fix}")
        stream.write(f"::warning {place},title={_property(f'leadsman: {each.rule}')}::{message}\n")


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
