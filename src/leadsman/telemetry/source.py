"""A telemetry source: a program, with the signatures of its log lines or the parser of its output."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from leadsman.event_types import built_in_event_types
from leadsman.telemetry import sources
from leadsman.telemetry.discovery import declared_in
from leadsman.telemetry.outputs.parser import HeadLinePattern, any_head_line
from leadsman.vocabulary import SHOWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from leadsman.event_types.definition import EventType
    from leadsman.telemetry.outputs.parser import OutputParser

MAX_MATCH = 2000
"""Characters that a match of any signature spans at most, on lines as programs write them."""

CLUSTER_ID: Mapping[str, str] = {"key": "cluster.id", "owner": "cluster"}
"""Labels of the setting that holds the id of the cluster."""

# [Producer clientId=orders-1, ...], |orders#producer-1|, [rdkafka#producer-1], client_id=orders
JAVA_CLIENT_ID = re.compile(r"clientId=([^,\]\s\"]+)")
CLIENT_ID = re.compile(r"clientId=([^,\]\s\"]+)|[|\[]([\w.-]+#(?:producer|consumer)-\d+)[|\]]|client_id=([^,)>\]\s]+)")


@dataclass(frozen=True, slots=True)
class Signature:
    r"""One kind of log line, and the event that it becomes.

    `pattern` is written in the subset that Hyperscan, RE2, Rust and Python share: no look-around, no back-reference,
    no `\s`, never a newline (`[^)\n]`). Named groups become labels of the event; a group called `value` becomes its
    value, multiplied by `scale` (the vocabulary gives the unit: seconds, unless it says otherwise).
    It spans less than MAX_MATCH characters and repeats nothing without end before its first literal: of a line of
    millions of characters, only the surroundings of a hit are searched then.
    It never ends in an open repetition, because Hyperscan reports every end of a match: close it with `\b` or a text.
    `labels` are labels that every event of this signature carries.
    `within` restricts the signature to records whose first line contains one of these texts; each text adds its
    labels.
    `once` is for frequent lines without an error: only the first one of a stream becomes an event.
    `first_word` is for patterns that begin with no literal, which are tried at each character: a text in the first
    word of each match, so that the pattern is not tried on the words before it.
    `names_source` is off for wordings that other programs print as well: they do not identify the writer of a file.
    """

    event: str
    pattern: str
    scale: float = 1.0
    labels: Mapping[str, str] = field(default_factory=dict)
    within: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    names_source: bool = True
    once: bool = False
    first_word: str = ""

    def search(self, pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
        """Return the match of the compiled pattern on a line."""
        if not self.first_word:
            return pattern.search(text)
        at = text.find(self.first_word)
        return None if at < 0 else pattern.search(text, text.rfind(" ", 0, at) + 1)

    def read(self, match: re.Match[str], first_line: str) -> tuple[dict[str, str], float | None] | None:
        """Return labels and value of a match in a record with this first line; None where it is no event there.

        The text of the group `value` stays among the labels: not every setting is a number. `client_id` is added
        where the line or the first line of its record names a client, but not to cluster settings.
        """
        context = self._context(first_line)
        if context is None:
            return None
        groups = match.groupdict()
        if not all(groups.values()):
            groups = {name: text for name, text in groups.items() if text}
        labels = {**self.labels, **context, **groups}
        needs_client = "client_id" not in labels and not is_cluster_setting(labels)
        if needs_client and (client := _client_id(match.string) or _client_id(first_line)):
            labels["client_id"] = client
        return labels, _number(labels.get("value"), self.scale)

    @property
    def is_readable_by_column(self) -> bool:
        """Whether `read_all` can read it: no label depends on another one, or on the record around the line."""
        groups = re.compile(self.pattern).groupindex
        return not self.within and "client_id" not in groups and groups.keys().isdisjoint(self.labels)

    def read_all(
        self, matches: Sequence[re.Match[str]]
    ) -> tuple[dict[str, Sequence[str | None]], Sequence[float | None]]:
        """Return labels and values of matches on one-line records, as columns: what `read` returns for each match."""
        count = len(matches)
        labels: dict[str, Sequence[str | None]] = {name: [text] * count for name, text in self.labels.items()}
        groups = zip(*(match.groups("") for match in matches), strict=True)
        for name, texts in zip(matches[0].re.groupindex, groups, strict=True):
            labels[name] = texts if all(texts) else [text or None for text in texts]
        if "client_id" not in labels and not is_cluster_setting(self.labels):
            clients = [_client_id(match.string) for match in matches]
            labels |= {"client_id": clients} if any(clients) else {}
        return labels, [_number(text, self.scale) for text in labels.get("value", [None] * count)]

    def _context(self, first_line: str) -> Mapping[str, str] | None:
        if not self.within:
            return {}
        return next((labels for text, labels in self.within.items() if text in first_line), None)


@dataclass(frozen=True, slots=True)
class Source:
    """A program that writes telemetry. `kind` is client, broker, runtime, application, settings or state.

    A program that logs has `signatures`; one whose output shows a state at one moment has a `parser`.
    `events` declares the events that no other source reports.
    """

    name: str
    title: str
    kind: str
    signatures: tuple[Signature, ...] = ()
    parser: OutputParser | None = None
    events: tuple[EventType, ...] = ()

    @property
    def event_names(self) -> frozenset[str]:
        """The event names that this source can report."""
        parsed = self.parser.event_names if self.parser else frozenset()
        return parsed | {signature.event for signature in self.signatures}


def is_cluster_setting(labels: Mapping[str, str]) -> bool:
    """Whether a setting is the cluster's and not the client's that logs it: a thousand clients log one cluster id."""
    return labels.get("owner") == CLUSTER_ID["owner"]


def _client_id(text: str) -> str | None:
    """Return the client id on a line. Looking for literals first is cheaper than trying the pattern."""
    if "#" not in text and "client_id=" not in text:
        java_match = JAVA_CLIENT_ID.search(text)
        return java_match[1] if java_match else None
    match = CLIENT_ID.search(text)
    return next(filter(None, match.groups())) if match else None


def _number(text: str | None, scale: float) -> float | None:
    try:
        return float(text) * scale if text else None
    except ValueError:
        return None


@cache
def all_sources() -> tuple[Source, ...]:
    """All sources declared as `SOURCE` below telemetry/sources/, by name: the order of names fixes the pattern ids."""
    declared: list[Source] = declared_in(sources, "SOURCE")
    return tuple(sorted(declared, key=lambda source: source.name))


@cache
def all_signatures() -> tuple[tuple[Source, Signature, re.Pattern[str]], ...]:
    """All signatures with their source and compiled pattern. The index is the scanner's pattern id."""
    return tuple(
        (source, signature, re.compile(signature.pattern))
        for source in all_sources()
        for signature in source.signatures
    )


@cache
def once_signatures() -> frozenset[int]:
    """Return the indexes of signatures that are events once a stream."""
    return frozenset(index for index, (_, signature, _) in enumerate(all_signatures()) if signature.once)


@cache
def _head_line_check() -> Callable[[bytes], bool]:
    """Return a check whether any parser that looks for a pattern on the first lines can recognise an output."""
    checks = (source.parser.matches for source in all_sources() if source.parser)
    return any_head_line(each for each in checks if isinstance(each, HeadLinePattern))


@cache
def _sources_with_parsers() -> tuple[tuple[tuple[Source, OutputParser], ...], ...]:
    """Return all sources with a parser, and those of them that do more than look for a pattern on the first lines."""
    every = tuple((source, source.parser) for source in all_sources() if source.parser)
    return every, tuple(each for each in every if not isinstance(each[1].matches, HeadLinePattern))


def output_source(head: bytes) -> Source | None:
    """Return the source whose parser recognises an output that begins so; None where none does."""
    every, others = _sources_with_parsers()
    left = every if _head_line_check()(head) else others
    return next((source for source, parser in left if parser.recognises(head)), None)


def event_types(declaring: Iterable[Source] | None = None) -> dict[str, EventType]:
    """Return all declared events by name: the built-in ones and those of the sources, of all where none are given.

    Raises ValueError where a name is declared twice.
    """
    listed = all_sources() if declaring is None else declaring
    declared: dict[str, EventType] = {}
    for event in (*built_in_event_types(), *(event for source in listed for event in source.events)):
        if event.name in declared:
            raise ValueError(f"The event {event.name} is declared twice.")
        declared[event.name] = event
    return declared


@cache
def symptom_sources(events: tuple[str, ...]) -> frozenset[str]:
    """Return what a capture must hold to show any of the events: sources, and roles that lines prove (`SHOWS`).

    A broker's lines about its own connections say nothing of clients. A client's log need not be a consumer's: where
    an event stands in `vocabulary.SHOWS`, a client's log shows it only if other lines prove the same.
    """
    named = {
        source.name
        for source in all_sources()
        for event in events
        if event in source.event_names and source.kind != "broker" and not (source.kind == "client" and event in SHOWS)
    }
    return frozenset(named | {SHOWS[event] for event in events if event in SHOWS})
