"""JSON slices keep a transaction's bytes as the provider wrote them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from account_linking.errors import TryLater
from account_linking.json_slices import JsonSlice, arrays

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def test_a_number_keeps_every_digit() -> None:
    document = b'{ "added" : [ {"amount": 0.10000000000000000001} , {"amount":1E+2} ], "n": 5 }'

    found = arrays(document, "added", "removed")

    assert [each.text for each in found["added"]] == ['{"amount": 0.10000000000000000001}', '{"amount":1E+2}']
    assert found["removed"] == []


@given(st.dictionaries(st.text(), JSON, max_size=5), st.lists(JSON, max_size=5), st.sampled_from([None, 1]))
def test_every_document_is_cut_where_json_parses_it(
    around: dict[str, object], elements: list[object], indent: int
) -> None:
    document = {**around, "added": elements}

    found = arrays(json.dumps(document, indent=indent).encode(), "added")["added"]

    assert [each.value for each in found] == elements
    assert [json.loads(each.text) for each in found] == elements


@pytest.mark.parametrize("document", [b"", b"[]", b"<html>", b'{"added": [1, 2', b"\xff\xfe", b'{"added"', b"{"])
def test_a_document_that_is_no_object_is_tried_later(document: bytes) -> None:
    with pytest.raises(TryLater):
        arrays(document, "added")


@pytest.mark.parametrize(
    "document",
    [
        b'{"added": [1]} x',
        b'{"added": [1]}{"added": [2]}',
        b'{"added": [1 2]}',
        b'{"added" [1]}',
        b'{"added": {"a": 1}}',
        b'{"added": 5}',
        b'{"added": [1], "added": [2]}',
        b'{"added": [NaN, ' + b"[" * 100_000,
        b'{"added": [' + b"1" * 5000 + b"]}",
    ],
    ids=range(9),
)
def test_a_document_of_which_an_element_would_vanish_is_tried_later(document: bytes) -> None:
    with pytest.raises(TryLater):
        arrays(document, "added")


@given(JSON, st.text(max_size=5))
def test_the_id_of_any_element_can_be_the_key_of_a_record(value: object, member: str) -> None:
    name = JsonSlice(value, "").name(member)

    assert name.encode().decode() == name
