"""A signature with `first_word` matches the same text as its pattern does from the beginning of the line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import example, given
from hypothesis import strategies as st

from leadsman.telemetry.source import all_signatures

if TYPE_CHECKING:
    import re

    from leadsman.telemetry.source import Signature

FIRST_WORD_SIGNATURES = [(each, pattern) for _, each, pattern in all_signatures() if each.first_word]
PIECES = st.sampled_from(("a", "_", ".", "-", "=", " ", "{", "\u00e9", "LEADER_NOT_AVAILABLE", "1", ",", "\n"))


@given(candidate=st.sampled_from(FIRST_WORD_SIGNATURES), line=st.lists(PIECES, max_size=12).map("".join))
@example(FIRST_WORD_SIGNATURES[0], "a {-orders.v1=LEADER_NOT_AVAILABLE}")
@example(FIRST_WORD_SIGNATURES[0], "xLEADER_NOT_AVAILABLE LEADER_NOT_AVAILABLE")
def test_a_match_is_found_from_its_first_word_on(candidate: tuple[Signature, re.Pattern[str]], line: str) -> None:
    signature, pattern = candidate

    match, plain = signature.search(pattern, line), pattern.search(line)

    assert (match and (match.span(), match.groups())) == (plain and (plain.span(), plain.groups()))
