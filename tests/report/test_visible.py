"""Log lines are shown, never obeyed."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadsman.report.text.escaping import escape_control_characters, escape_surrogates, escape_unencodable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain (after 600053ms in state UP)", "plain (after 600053ms in state UP)"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("over\rwritten", "over\\x0dwritten"),
        ("\x9b2J", "\\x9b2J"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("tag \U000e0041", "tag \\U000e0041"),
        ("byte \udce9", "byte \\xe9"),
        ("Grüße 中 🙂", "Grüße 中 🙂"),
    ],
)
def test_what_a_terminal_would_obey_is_spelled_out_and_the_rest_stays(text, shown):
    assert escape_control_characters(text) == shown


@given(st.text(alphabet=st.characters(codec=None)))
def test_nothing_that_acts_is_left(text):
    shown = escape_control_characters(text, keep="\t")

    assert {unicodedata.category(c) for c in shown.replace("\t", "")} & {"Cc", "Cf", "Cs", "Zl", "Zp"} == set()


@given(st.text(alphabet=st.characters(codec=None)))
def test_whole_text_can_be_written_to_any_file_in_utf_8(text):
    written = escape_surrogates(text).encode("utf-8")

    assert written.decode("utf-8") == escape_surrogates(text)


def test_characters_that_an_encoding_lacks_are_spelled_out():
    assert escape_unencodable("Grüße", "ascii") == "Gr\\xfc\\xdfe"
