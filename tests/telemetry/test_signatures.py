"""`lines.txt` has log lines of real releases, and below each line its events."""

import re
import shlex
from pathlib import Path

import hyperscan
import pytest
import re2

from leadsman import vocabulary as v
from leadsman.telemetry.source import all_signatures, all_sources, event_types

CASES = re.findall(
    r"^((?!#)[^\n]+)\n((?:  => [^\n]+\n?)+)", Path(__file__).with_name("lines.txt").read_text(), re.MULTILINE
)
LINES = [case.partition(" << ")[0] for case, _ in CASES]
PATTERNS = [signature.pattern for _, signature, _ in all_signatures()]
HARM = {v.CONNECTION_LOST, v.CONNECTION_RESET, v.RECORD_FAILED, v.RECORD_EXPIRED, v.REQUEST_TIMED_OUT}


def events_in(line, first_line=""):
    """The events of a line, `error` only where there is no other: event, labels, value."""
    matches = [
        (signature.event, signature.read(match, first_line or line))
        for _, signature, pattern in all_signatures()
        if (match := pattern.search(line))
    ]
    events = {comparable(event, *read) for event, read in matches if read}
    return {event for event in events if event[0] != v.ERROR} or events


def comparable(event, labels, value):
    """An event without the text of its value."""
    other_labels = frozenset(pair for pair in labels.items() if value is None or pair[0] != "value")
    return event, other_labels, None if value is None else round(value, 6)


def parse_expected(text):
    """`connection.reset node=1 (11.173)` as event, labels, value."""
    event, *words = shlex.split(text)
    value = float(words.pop().strip("()")) if words and words[-1].startswith("(") else None
    return comparable(event, dict(word.split("=", 1) for word in words), value)


@pytest.mark.parametrize(("case", "expected_text"), CASES, ids=LINES)
def test_a_line_becomes_the_events_below_it(case, expected_text):
    line, _, first_line = case.partition(" << ")

    expected = {parse_expected(event) for event in re.findall(r"=> (.+)", expected_text) if event != "nothing"}

    assert events_in(line, first_line) == expected


@pytest.mark.parametrize("line", [line for line in LINES if v.CONNECTION_CLOSED in {e for e, *_ in events_in(line)}])
def test_a_harmless_close_is_no_harm(line):
    assert not {event for event, *_ in events_in(line)} & HARM


@pytest.mark.parametrize("source", all_sources(), ids=lambda source: source.name)
def test_a_source_yields_only_events_of_the_vocabulary(source):
    assert source.event_names <= event_types().keys()


@pytest.fixture(scope="module")
def hyperscan_hits():
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(
        expressions=[pattern.encode() for pattern in PATTERNS],
        ids=list(range(len(PATTERNS))),
        flags=[0] * len(PATTERNS),
    )

    def hits(text):
        found = []
        database.scan(text.encode(), match_event_handler=lambda index, *_: found.append(index))
        return found

    return hits


@pytest.mark.parametrize("pattern", range(len(PATTERNS)), ids=PATTERNS)
def test_re2_means_the_same_as_python(pattern):
    by_python = [line for line in LINES if re.search(PATTERNS[pattern], line)]

    by_re2 = [line for line in LINES if re2.search(PATTERNS[pattern], line)]

    assert by_re2 == by_python


def test_hyperscan_means_the_same_as_python(hyperscan_hits):
    by_python = [{i for i, pattern in enumerate(PATTERNS) if re.search(pattern, line)} for line in LINES]

    by_hyperscan = [set(hyperscan_hits(line)) for line in LINES]

    assert by_hyperscan == by_python


def test_hyperscan_finds_in_a_block_what_python_finds_in_its_lines(hyperscan_hits):
    by_python = {i for i, pattern in enumerate(PATTERNS) if any(re.search(pattern, line) for line in LINES)}

    assert set(hyperscan_hits("\n".join(LINES))) == by_python


def test_no_pattern_reports_a_match_at_each_of_its_letters(hyperscan_hits):
    hits = [hyperscan_hits(line) for line in LINES]

    assert max(found.count(index) for found in hits for index in found) <= 4


OVERLONG = [
    "a",
    "a.",
    "0f",
    " ",
    "/1: ",
    "%4|",
    "a=",
    "clientId=",
    "<BrokerConnection node_id=",
    "deliver ",
    '"error":',
]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("word", OVERLONG)
def test_no_overlong_line_takes_long(word):
    line = word * (20_000 // len(word))

    assert [pattern.search(line) for _, _, pattern in all_signatures()] == [None] * len(PATTERNS)
