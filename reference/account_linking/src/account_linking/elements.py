"""Serializes elements as values of Kafka records, and parses them."""

from __future__ import annotations

import json
from dataclasses import asdict

from account_linking.bodies import member, parse_object, text
from account_linking.providers.model import Element


def dump(element: Element) -> bytes:
    """Return an element as the value of a Kafka record."""
    return json.dumps(asdict(element), separators=(",", ":")).encode()


def load(value: bytes) -> Element:
    """Parse the value of a Kafka record; Poison if the value is no element."""
    fields = parse_object(value)
    link = text(fields, "link") if member(fields, "link", str) else ""
    return Element(provider=text(fields, "provider"), item=text(fields, "item"), link=link)


def key(element: Element) -> str:
    """Return the record key: one item, one partition, so that its fetches run one after the other."""
    return f"{element.provider}|{element.item}"
