"""Cuts the arrays of a JSON document into elements, byte for byte: parsing and writing a number again may change it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from account_linking.errors import TryLater

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T", str, bool, dict[str, Any])

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n,:]*")


@dataclass(frozen=True, slots=True)
class JsonSlice:
    """One element of an array: the parsed value, and its text as in the document."""

    value: Any
    text: str

    def name(self, member: str) -> str:
        """Return a member that is an id, as text; "" if there is none.

        A malformed record is published all the same: the tables quarantine it.
        """
        value = self.value.get(member) if isinstance(self.value, dict) else None
        is_id = isinstance(value, str | int) and not isinstance(value, bool)
        return str(value).encode(errors="replace").decode() if is_id else ""


def arrays(document: bytes, *names: str) -> dict[str, list[JsonSlice]]:
    """Return the elements of the top-level arrays `names`, [] for an absent one or null.

    TryLater if the document is no JSON object, if one of the names is there twice, or is no array: an element that was
    left out would vanish.
    """
    page = parse_page(document)
    for name in names:
        if not isinstance(page.get(name), list | None):
            raise TryLater(f"The response's {name} is no array.")
    try:
        return _arrays(document.decode(), names)
    except ValueError as error:
        raise TryLater(f"The response cannot be cut: {error}.") from error


def parse_page(document: bytes) -> dict[str, Any]:
    """Return a response that is a JSON object; TryLater for anything else."""
    try:
        page = json.loads(document.decode())
    except (ValueError, RecursionError) as error:
        raise TryLater(f"The response is no JSON object: {type(error).__name__}.") from error
    if not isinstance(page, dict):
        raise TryLater("The response is no JSON object.")
    return page


def page_member(page: dict[str, Any], name: str, kind: type[T]) -> T:
    """Return a member of a response; TryLater if it is missing or of another type."""
    value = page.get(name)
    if not isinstance(value, kind):
        raise TryLater(f"The response's {name} is missing or of another type.")
    return value


def _arrays(text: str, names: tuple[str, ...]) -> dict[str, list[JsonSlice]]:
    elements: dict[str, list[JsonSlice]] = {name: [] for name in names}
    seen: set[str] = set()
    at = _past_space(text, _past_space(text, 0) + 1)
    while text[at] != "}":
        name, at = _DECODER.raw_decode(text, at)
        at = _past_space(text, at)
        if name in seen:
            raise ValueError("an array is there twice")
        seen |= {name} & elements.keys()
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
