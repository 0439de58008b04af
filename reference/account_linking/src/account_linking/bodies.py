"""Reads JSON that others wrote: any bytes give a document or a Poison, whose sentence quotes nothing of the content."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from account_linking.errors import Poison

T = TypeVar("T", str, dict[str, Any], list[Any])

MAX_NAME_CHARACTERS = 512
"""Maximum of an id, a code or a link in a body. Providers' ids have at most 64 characters, FDX allows 256; an id
becomes the key of a record, and a broker accepts 1 MB a record."""


def parse_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object that the body is. Poison for anything else, however deep, long or oddly encoded it is."""
    try:
        document = json.loads(body.decode(), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise Poison(f"The body is not UTF-8 from byte {error.start} on.") from error
    except json.JSONDecodeError as error:
        raise Poison(f"The body is no JSON: {error}.") from error
    except RecursionError as error:
        raise Poison("The body is nested too deeply.") from error
    except ValueError as error:  # a number of more than 4,300 digits, or NaN
        raise Poison("The body has a number that JSON or Python does not allow.") from error
    if not isinstance(document, dict):
        raise Poison(f"The body is {_kind(document)}, not an object.")
    return document


def member(document: dict[str, Any], name: str, kind: type[T]) -> T:
    """Return a member of this type; Poison if it is missing or of another type."""
    if name not in document:
        raise Poison(f"The body has no {name}.")
    value = document[name]
    if not isinstance(value, kind):
        raise Poison(f"The body's {name} is {_kind(value)}, not {_KINDS[kind]}.")
    return value


def text(document: dict[str, Any], name: str) -> str:
    """Return a text of one to MAX_NAME_CHARACTERS printable characters: an id, a code or a link."""
    value = member(document, name, str)
    if not value or len(value) > MAX_NAME_CHARACTERS or not value.isprintable():
        raise Poison(
            f"The body's {name} is empty, longer than {MAX_NAME_CHARACTERS} characters, or has characters that cannot"
            " be printed."
        )
    return value


def objects(document: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return an array of objects; Poison if any element is none."""
    elements = member(document, name, list)
    for element in elements:
        if not isinstance(element, dict):
            raise Poison(f"The body's {name} has an element that is {_kind(element)}, not an object.")
    return elements


_KINDS: dict[type, str] = {
    dict: "an object",
    list: "an array",
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    type(None): "null",
}


def _kind(value: object) -> str:
    return _KINDS[type(value)]


def _refuse_constant(name: str) -> None:
    raise ValueError(name)
