"""JUnit's XML: a failed test for each finding, for CI servers that show test reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO
from xml.sax.saxutils import escape, quoteattr

from leadsman.gate.formats.text import printable

if TYPE_CHECKING:
    from leadsman.gate.check import Report


def write(report: Report, stream: TextIO) -> None:
    """Write one suite. Without a finding it has one test that passed, because empty suites count as errors."""
    count = len(report.violations)
    stream.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    stream.write(
        f'<testsuite name="leadsman check program" tests="{max(1, count)}" failures="{count}" errors="0" skipped="0">\n'
    )
    for each in report.violations:
        location = f"{each.path}:{each.span.line}:{each.span.column}"
        stream.write(f"<testcase classname={_attribute(each.rule)} name={_attribute(location)}>\n")
        details = escape(printable(f"{each.line_text.strip()} - {each.why} {each.fix}"))
        stream.write(f"<failure message={_attribute(each.message)}>{details}</failure>\n</testcase>\n")
    if not count:
        stream.write('<testcase classname="leadsman" name="check program"/>\n')
    stream.write("</testsuite>\n")


def _attribute(text: str) -> str:
    return quoteattr(printable(text))
