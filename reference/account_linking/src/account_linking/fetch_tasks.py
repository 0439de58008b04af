"""Serializes fetch tasks as values of Kafka records, and parses them."""

from __future__ import annotations

import json
from dataclasses import asdict

from account_linking.bodies import member, parse_object, text
from account_linking.providers.model import FetchTask


def dump(task: FetchTask) -> bytes:
    """Return a fetch task as the value of a Kafka record."""
    return json.dumps(asdict(task), separators=(",", ":")).encode()


def load(value: bytes) -> FetchTask:
    """Parse the value of a Kafka record; Poison if the value is no fetch task."""
    fields = parse_object(value)
    link = text(fields, "link") if member(fields, "link", str) else ""
    return FetchTask(provider=text(fields, "provider"), item=text(fields, "item"), link=link)


def key(task: FetchTask) -> str:
    """Return the record key: one item, one partition, so that its fetches run one after the other."""
    return f"{task.provider}|{task.item}"
