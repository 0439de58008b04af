"""Cuts the arrays of a JSON document into elements, byte for byte: parsing and writing a number again may change it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from account_linking.errors import TryLater

if TYPE_CHECKING:
    from collections.abc import Iterator

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n,:]*")


@dataclass(frozen=True, slots=True)
class JsonSlice:
    """One element of an array: the parsed value, and its text as in the document."""

    value: Any
    text: str


def arrays(document: bytes, *names: str) -> dict[str, list[JsonSlice]]:
    """Return the elements of the top-level arrays `names`, [] for an absent one. TryLater if it is no object."""
    try:
        return _arrays(document.decode(), names)
    except (ValueError, IndexError) as error:
        raise TryLater(f"The response of {len(document)} bytes is no JSON object: {type(error).__name__}.") from None


def _arrays(text: str, names: tuple[str, ...]) -> dict[str, list[JsonSlice]]:
    elements: dict[str, list[JsonSlice]] = {name: [] for name in names}
    at = _past_space(text, 0)
    if text[at] != "{":
        raise ValueError(f"expected an object, got {text[at]!r}")
    at = _past_space(text, at + 1)
    while text[at] != "}":
        name, at = _DECODER.raw_decode(text, at)
        at = _past_space(text, at)
        if name in elements and text[at] == "[":
            elements[name], at = _elements(text, at)
        else:
            _, at = _DECODER.raw_decode(text, at)
        at = _past_space(text, at)
    return elements


def _elements(text: str, at: int) -> tuple[list[JsonSlice], int]:
    ends = list(_walk(text, _past_space(text, at + 1)))
    last = ends[-1][1] if ends else _past_space(text, at + 1)
    return [piece for piece, _ in ends], _past_space(text, last) + 1


def _walk(text: str, at: int) -> Iterator[tuple[JsonSlice, int]]:
    while text[at] != "]":
        value, end = _DECODER.raw_decode(text, at)
        yield JsonSlice(value, text[at:end]), end
        at = _past_space(text, end)


def _past_space(text: str, at: int) -> int:
    """Return where the next token begins. Commas and colons count as space: the decoder rejects malformed JSON."""
    matched = _SPACE.match(text, at)
    assert matched is not None
    return matched.end()
