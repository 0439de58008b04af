"""Blocks with many marks of secrets have the same candidate lines, whichever of marks and names is looked for first."""

from __future__ import annotations

from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leadsman.redaction.over_lines import candidates
from leadsman.redaction.over_lines.candidates import MARKS, candidate_offsets

NAMES = ("password", "secret", "API_KEY", "token", "cred", "mot de passe", "routing-key", "パスワード")
WORDS = ("a", "order 17", "value", "Elr", "kafka.server", " ", "\n", "\n", "\n", "x" * 59, "y" * 199, "z" * 1990)


@st.composite
def blocks(draw: st.DrawFn) -> bytes:
    """Marks and words at random distances, and few names or many."""
    random = Random(draw(st.integers(0, 1 << 32)))
    names = random.choice((0, 1, 1, 3, 40))
    pieces = random.choices((*MARKS, *WORDS), k=random.randrange(1, 120))
    pieces += random.choices(NAMES, k=names)
    random.shuffle(pieces)
    return "".join(pieces).encode()


@settings(max_examples=1500)
@given(blocks())
def test_looking_for_names_first_finds_the_same_candidates(data: bytes) -> None:
    one_by_one = candidate_offsets(data)

    with patch.object(candidates, "MANY_MARKS", 0):
        assert candidate_offsets(data) == one_by_one


@pytest.mark.parametrize("distance", range(0, 1_200, 7))
@pytest.mark.parametrize("mark", ['"value": ', "\\\n", ": \n"])
def test_a_name_at_any_distance_is_found_as_before(mark: str, distance: int) -> None:
    for filling in ("x" * distance, "\n" * (distance % 9) + "x" * distance, "x" * distance + "\n" * (distance % 9)):
        for text in (f"secret{filling}{mark}\nz", f"z\n{mark}{filling}secret"):
            one_by_one = candidate_offsets(text.encode())

            with patch.object(candidates, "MANY_MARKS", 0):
                assert candidate_offsets(text.encode()) == one_by_one
