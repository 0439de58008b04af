"""What a telemetry source is: a name, and the signatures by which its lines are known, or the reading of its output."""

from __future__ import annotations

import pkgutil
import re
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from leadsman.telemetry import sources

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leadsman.telemetry.reading import Reading

LONGEST_MATCH = 2000
"""Characters that a match of any signature spans at most, on lines as programs write them."""

CLUSTER_ID: Mapping[str, str] = {"key": "cluster.id", "owner": "cluster"}
"""Labels of a setting that says which cluster is meant."""

# [Producer clientId=orders-1, ...], |orders#producer-1|, [rdkafka#producer-1], client_id=orders
OF_JAVA = re.compile(r"clientId=([^,\]\s\"]+)")
CLIENT = re.compile(r"clientId=([^,\]\s\"]+)|[|\[]([\w.-]+#(?:producer|consumer)-\d+)[|\]]|client_id=([^,)>\]\s]+)")


@dataclass(frozen=True, slots=True)
class Signature:
    r"""One kind of line, and the event that it is.

    `pattern` is written in the subset that Hyperscan, RE2, Rust and Python share: no look-around, no back-reference,
    no `\s`, never a newline (`[^)\n]`). Named groups become labels of the event; a group called `value` becomes its
    value, multiplied by `scale` (the vocabulary gives the unit: seconds, unless it says otherwise).
    It spans less than LONGEST_MATCH characters and repeats nothing without end before its first literal: a line of
    millions of characters is then searched around what the scanner found, and in no time.
    It never ends in an open repetition, because Hyperscan reports every end of a match: close it with `\b` or a text.
    `labels` are labels that every event of this signature carries.
    `within` restricts the signature to records whose first line contains one of these texts; each text brings
    the labels that it stands for.
    `once` is for lines of ordinary life that come by the million: only the first of a stream is an event.
    `first_word` is for patterns that begin with no text, which are tried from each character on: a text that stands in
    the first word of each match, so that words before it need not be tried.
    `names_source` is off for wordings that other programs print as well: they do not tell who wrote the file.
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
        """Return what the compiled pattern finds on a line."""
        if not self.first_word:
            return pattern.search(text)
        place = text.find(self.first_word)
        return None if place < 0 else pattern.search(text, text.rfind(" ", 0, place) + 1)

    def read(self, match: re.Match[str], head: str) -> tuple[dict[str, str], float | None] | None:
        """Labels and value of one match in a record whose first line is `head`; None where it is no event there.

        The text of the group `value` stays among the labels: not every setting is a number. `client_id` is added
        where the line or the record's first one names a client, except to what is the cluster's.
        """
        context = self._context(head)
        if context is None:
            return None
        given = match.groupdict()
        if not all(given.values()):
            given = {name: text for name, text in given.items() if text}
        labels = {**self.labels, **context, **given}
        needs_client = "client_id" not in labels and not is_of_cluster(labels)
        if needs_client and (client := _client(match.string) or _client(head)):
            labels["client_id"] = client
        return labels, _number(labels.get("value"), self.scale)

    @property
    def by_column(self) -> bool:
        """Whether `read_all` reads it: no label of it depends on another one, or on the record around the line."""
        named = re.compile(self.pattern).groupindex
        return not self.within and "client_id" not in named and named.keys().isdisjoint(self.labels)

    def read_all(
        self, matches: Sequence[re.Match[str]]
    ) -> tuple[dict[str, Sequence[str | None]], Sequence[float | None]]:
        """Labels and values, column by column, of matches on lines that are whole records: what `read` says of each."""
        count = len(matches)
        labels: dict[str, Sequence[str | None]] = {name: [text] * count for name, text in self.labels.items()}
        given = zip(*(match.groups("") for match in matches), strict=True)
        for name, texts in zip(matches[0].re.groupindex, given, strict=True):
            labels[name] = texts if all(texts) else [text or None for text in texts]
        if "client_id" not in labels and not is_of_cluster(self.labels):
            clients = [_client(match.string) for match in matches]
            labels |= {"client_id": clients} if any(clients) else {}
        return labels, [_number(text, self.scale) for text in labels.get("value", [None] * count)]

    def _context(self, head: str) -> Mapping[str, str] | None:
        if not self.within:
            return {}
        return next((labels for text, labels in self.within.items() if text in head), None)


@dataclass(frozen=True, slots=True)
class Source:
    """A program that writes telemetry. `kind` is client, broker, runtime, application, settings or state.

    A program that logs has signatures; one whose output is a whole, which tells how things stood, has a reading.
    """

    name: str
    title: str
    kind: str
    signatures: tuple[Signature, ...] = ()
    reading: Reading | None = None

    @property
    def reports(self) -> frozenset[str]:
        """The event names that this source can report."""
        read = self.reading.reports if self.reading else frozenset()
        return read | {signature.event for signature in self.signatures}


def is_of_cluster(labels: Mapping[str, str]) -> bool:
    """Say whether a setting is the cluster's own, whoever tells it: a thousand clients tell one id."""
    return labels.get("owner") == CLUSTER_ID["owner"]


def _client(text: str) -> str | None:
    """Return the client that a line names. Looking for texts costs less than the pattern, which begins with none."""
    if "#" not in text and "client_id=" not in text:
        of_java = OF_JAVA.search(text)
        return of_java[1] if of_java else None
    found = CLIENT.search(text)
    return next(filter(None, found.groups())) if found else None


def _number(text: str | None, scale: float) -> float | None:
    try:
        return float(text) * scale if text else None
    except ValueError:
        return None


@cache
def every_source() -> tuple[Source, ...]:
    """All sources found under telemetry/sources/, in alphabetical order. Nothing registers itself."""
    names = sorted(module.name for module in pkgutil.iter_modules(sources.__path__))  # on an executor they are in a zip
    return tuple(import_module(f"leadsman.telemetry.sources.{name}").SOURCE for name in names)


@cache
def every_signature() -> tuple[tuple[Source, Signature, re.Pattern[str]], ...]:
    """All signatures with their source and their compiled pattern. The index is the scanner's pattern id."""
    return tuple(
        (source, signature, re.compile(signature.pattern))
        for source in every_source()
        for signature in source.signatures
    )


def source_of(head: bytes) -> Source | None:
    """Return the source whose reading knows an output that begins so; None where it is no such output."""
    return next((source for source in every_source() if source.reading and source.reading.knows(head)), None)
