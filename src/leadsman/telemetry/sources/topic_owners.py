"""Whose a topic is: a list by hand, in the manner of a CODEOWNERS file, told by its first line `# topic owners`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman import vocabulary as v
from leadsman.telemetry.reading import About, Facts, Reading, decoded_lines, fact, told_by
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# A pattern as shells have it, then whoever it is, to the end of the line.
LINE = re.compile(r"(?P<pattern>[\w.\-*?]+)\s+(?P<owner>\S.*?)\s*$")


def _facts(blocks: Iterable[bytes], about: About) -> Iterator[Facts]:  # noqa: ARG001 - a reading's signature
    for number, line in decoded_lines(blocks):
        if found := LINE.match(line):
            yield fact(v.SETTING, number, line, None, key=found["pattern"], value=found["owner"], owner="topics")


SOURCE = Source(
    "topic_owners",
    "Topic owners",
    "settings",
    reading=Reading(tells=told_by(r"# topic owners\b", lines=1), facts=_facts, reports=frozenset({v.SETTING})),
)
