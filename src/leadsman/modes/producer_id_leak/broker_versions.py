"""What frees producer ids, and the heap per id, by the broker's version. Measured on real brokers; see page.md."""

from __future__ import annotations

from dataclasses import dataclass

from leadsman.kafka_defaults import seconds


@dataclass(frozen=True, slots=True)
class VersionRange:
    """Brokers from version `since` on. `setting` expires ids; `dynamic`: it changes without a restart.

    `trim_frees`: deleting records frees the ids of their producers. `bytes_per_id` is the heap of one id in one
    partition whose last batch is known.
    """

    since: tuple[int, int]
    setting: str
    dynamic: bool
    trim_frees: bool
    bytes_per_id: float
    frees: str


SCALA_BYTES = 322.7
"""kafka.log.ProducerStateEntry with the objects that it references: measured on a million entries, compressed
pointers."""

JAVA_BYTES = 262.6
"""org.apache.kafka.storage.internals.log.ProducerStateEntry, the same."""

VERSION_RANGES = (
    VersionRange(
        (0, 11),
        "transactional.id.expiration.ms",
        dynamic=False,
        trim_frees=True,
        bytes_per_id=SCALA_BYTES,
        frees="trimming the topics (kafka-delete-records) frees them at once",
    ),
    VersionRange(
        (2, 4),
        "transactional.id.expiration.ms",
        dynamic=False,
        trim_frees=False,
        bytes_per_id=SCALA_BYTES,
        frees=(
            "trimming frees no ids; a lower transactional.id.expiration.ms (with a restart) or deleting the topic "
            "frees them"
        ),
    ),
    VersionRange(
        (3, 4),
        "producer.id.expiration.ms",
        dynamic=True,
        trim_frees=False,
        bytes_per_id=SCALA_BYTES,
        frees=(
            "trimming frees no ids; a lower producer.id.expiration.ms (without a restart) or deleting the topic frees "
            "them"
        ),
    ),
    VersionRange(
        (3, 5),
        "producer.id.expiration.ms",
        dynamic=True,
        trim_frees=False,
        bytes_per_id=JAVA_BYTES,
        frees=(
            "trimming frees no ids; a lower producer.id.expiration.ms (without a restart) or deleting the topic frees "
            "them"
        ),
    ),
)
"""Oldest first. Since KAFKA-7190 (2.4) brokers keep ids whose records are deleted; KIP-854 (3.4) added an expiry for
ids."""


def expires_after(version: str) -> float:
    """Return after how many seconds a broker of this version expires an id, by default."""
    return seconds("broker", version_range(version).setting, version)


def version_range(version: str) -> VersionRange:
    """Return the range of a version such as 2.8.2; the newest where the text is no version."""
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    known = [each for each in VERSION_RANGES if not numbers or each.since <= numbers]
    return known[-1] if known else VERSION_RANGES[0]
