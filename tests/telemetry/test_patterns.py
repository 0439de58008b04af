"""What a signature finds from the first word of a match on is what it finds from the line's beginning on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import example, given
from hypothesis import strategies as st

from leadsman.telemetry.source import every_signature

if TYPE_CHECKING:
    import re

    from leadsman.telemetry.source import Signature

KNOWN = [(each, pattern) for _, each, pattern in every_signature() if each.first_word]
PIECES = st.sampled_from(("a", "_", ".", "-", "=", " ", "{", "\u00e9", "LEADER_NOT_AVAILABLE", "1", ",", "\n"))


@given(known=st.sampled_from(KNOWN), line=st.lists(PIECES, max_size=12).map("".join))
@example(KNOWN[0], "a {-orders.v1=LEADER_NOT_AVAILABLE}")
@example(KNOWN[0], "xLEADER_NOT_AVAILABLE LEADER_NOT_AVAILABLE")
def test_a_match_is_found_from_its_first_word_on(known: tuple[Signature, re.Pattern[str]], line: str) -> None:
    signature, pattern = known

    found, plain = signature.search(pattern, line), pattern.search(line)

    assert (found and (found.span(), found.groups())) == (plain and (plain.span(), plain.groups()))
