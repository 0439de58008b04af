"""Blocks with many marks of secrets have the same candidate lines, whichever of marks and names is looked for first."""

from __future__ import annotations

import json
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leadsman.pipeline.read.hidden_lines import HiddenLines
from leadsman.redaction import can_hold_secret, mask_all, prefilter
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


BEFORE = ("", " ", "_", "-", ".", '"', "é", "DB_", "my-")
"""What can stand before the word of a key."""
COLOURS = ("\x1b[31m", "\\u001b[0;31m", "\\e[1m")


@pytest.fixture
def by_hyperscan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefilter, "HYPERSCAN_MIN_CHARACTERS", 0)


@pytest.mark.usefixtures("by_hyperscan")
@pytest.mark.parametrize("word", ["pw", "PW", "pwd", "Pw1", "pw_old", "pwOld", "PW-PROD"])
def test_a_short_key_is_found_behind_whatever_can_stand_before_it(word: str) -> None:
    for before in BEFORE:
        over_lines = f"start\n{before}{word}:\n  s3cretvalue9\nend\n"
        assert b"s3cretvalue9" not in HiddenLines().mask(over_lines.encode()), before
    for before in (*BEFORE, *COLOURS):
        assert "s3cretvalue9" not in mask_all([f"{before}{word}=s3cretvalue9"])[0], before


@pytest.mark.parametrize("before", ["\n", "\t", "\r\n", "\u2028", "\x0b", "\\\n"])
def test_a_short_key_is_found_behind_what_json_escapes(before: str) -> None:
    record = json.dumps({"message": f"start{before}pw:\n  s3cretvalue9\nend"}) + "\n"

    assert b"s3cretvalue9" not in HiddenLines().mask(record.encode())


@pytest.mark.usefixtures("by_hyperscan")
@pytest.mark.parametrize("before", [*BEFORE, *COLOURS, "=", "'", ">"])
def test_a_token_is_found_behind_whatever_can_stand_before_it(before: str) -> None:
    assert "aB3aB3" not in mask_all([f"{before}sk-proj-{'aB3' * 15}"])[0]


@pytest.mark.usefixtures("by_hyperscan")
@pytest.mark.parametrize("text", ["task-0", "disk-12", "service-desk-prod-v92-4097", "dnAXEN2wCCZxc5ZeFe08PWx2"])
def test_words_that_end_as_a_token_begins_need_no_rules(text: str) -> None:
    assert not can_hold_secret(text)
