"""Owners of topics: a file written by hand, like CODEOWNERS, recognised by its first line `# topic owners`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman import vocabulary as v
from leadsman.telemetry.outputs.parser import (
    EventColumns,
    OutputContext,
    OutputParser,
    decoded_lines,
    head_line_matches,
    single_event,
)
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# A shell pattern, then the owner, to the end of the line.
LINE = re.compile(r"(?P<pattern>[\w.\-*?]+)\s+(?P<owner>\S.*?)\s*$")


def _parse(blocks: Iterable[bytes], context: OutputContext) -> Iterator[EventColumns]:  # noqa: ARG001 - a parser's signature
    for number, line in decoded_lines(blocks):
        if match := LINE.match(line):
            yield single_event(
                v.SETTING, number, line, None, key=match["pattern"], value=match["owner"], owner="topics"
            )


SOURCE = Source(
    "topic_owners",
    "Topic owners",
    "settings",
    parser=OutputParser(
        matches=head_line_matches(r"# topic owners\b", lines=1), parse=_parse, event_names=frozenset({v.SETTING})
    ),
)
