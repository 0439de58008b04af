"""One sentence for each change, the same on the console, on the page and in a finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.model import ChangeType
from leadsman.words import count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leadsman.model import Change, Changes

NOUNS: Mapping[str, str] = {
    "configuration": "setting settings",
    "version": "version versions",
    "client": "client id|client ids",
    "topic": "topic topics",
    "partition": "partition partitions",
    "broker": "broker brokers",
    "host": "host hosts",
    "producer_ids_allocated": "new producer ids per hour in clients' logs",
    "producer_ids": "producer ids on brokers",
    "leader": "leader of a partition|leaders of partitions",
    "replicas": "replicas of a partition|replicas of partitions",
}
"""The noun of each kind, singular and plural."""

THINGS_NAMED = 4
FACTOR_WITHOUT_DECIMAL = 10
"""Factors from here on are shown without a decimal."""


def kind_noun(kind: str, number: int = 2) -> str:
    """Return the noun for so many things of a kind."""
    if _is_number(kind):
        return NOUNS[kind]
    return count(number, NOUNS[kind]).split(" ", 1)[1]


def _is_number(kind: str) -> bool:
    return kind.startswith("producer_ids")


def change_sentence(change: Change) -> str:
    """Return what changed, of which things, from which value to which."""
    names = ", ".join(change.things[:THINGS_NAMED])
    more = change.count - len(change.things[:THINGS_NAMED])
    things = names + (f" and {count(more)} more" if more > 0 else "")
    sentence = _number_sentence(change, things) if isinstance(change.after, float) else _value_sentence(change, things)
    return f"{sentence} (it had changed before, too)" if change.changed_earlier else sentence


def _number_sentence(change: Change, things: str) -> str:
    assert isinstance(change.before, float)
    assert isinstance(change.after, float)
    times = f"{change.magnitude:,.{1 if change.magnitude < FACTOR_WITHOUT_DECIMAL else 0}f}"
    factor = f", {times} times as many" if change.how is ChangeType.MORE and change.before >= 1 else ""
    return f"{kind_noun(change.kind)}, {things}: {change.before:,.0f} before, {change.after:,.0f} after{factor}"


def _value_sentence(change: Change, things: str) -> str:
    changed_thing = change.key if change.kind == "configuration" else kind_noun(change.kind, change.count)
    match change.how:
        case ChangeType.NEW:
            value = f" = {change.after}" if change.after is not None else ""
            return f"{changed_thing}{value}, new: {things}"
        case ChangeType.GONE:
            value = f" (it was {change.before})" if change.before is not None else ""
            return f"{changed_thing}{value}, gone: {things}"
    return f"{changed_thing}: {change.before} before, {change.after} after: {things}"


def not_comparable_sentences(changes: Changes) -> list[str]:
    """Return which kinds could not be compared, and which side holds no data of them."""
    reasons = {
        (True, False): "no data after",
        (False, True): "no data before",
        (False, False): "no data on either side",
    }
    kinds_by_reason: dict[str, list[str]] = {}
    for kind, before, after in changes.not_comparable:
        kinds_by_reason.setdefault(reasons[before, after], []).append(kind_noun(kind))
    uncollected = [f"{count(number)} {kind_noun(kind, number)}" for kind, number in changes.uncollected]
    sentences = [f"{', '.join(kinds)}: {reason}" for reason, kinds in kinds_by_reason.items()]
    return [*sentences, f"{', '.join(uncollected)}: not collected after"] if uncollected else sentences
