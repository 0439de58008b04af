"""What frees producer ids, and what an id weighs, by the broker's version. Measured on real brokers; see page.md."""

from __future__ import annotations

from dataclasses import dataclass

from leadsman.defaults import seconds


@dataclass(frozen=True, slots=True)
class Era:
    """Brokers since version `since`. `setting` is what expires ids; `dynamic`: without a restart.

    `trim_frees`: deleting the records deletes their producers. `bytes_an_id` is heap for one id in one partition whose
    last batch is known.
    """

    since: tuple[int, int]
    setting: str
    dynamic: bool
    trim_frees: bool
    bytes_an_id: float
    frees: str


SCALA_BYTES = 322.7
"""kafka.log.ProducerStateEntry with what hangs on it: measured on a million entries, compressed pointers."""

JAVA_BYTES = 262.6
"""org.apache.kafka.storage.internals.log.ProducerStateEntry, the same."""

ERAS = (
    Era(
        (0, 11),
        "transactional.id.expiration.ms",
        dynamic=False,
        trim_frees=True,
        bytes_an_id=SCALA_BYTES,
        frees="trimming the topics (kafka-delete-records) frees them at once",
    ),
    Era(
        (2, 4),
        "transactional.id.expiration.ms",
        dynamic=False,
        trim_frees=False,
        bytes_an_id=SCALA_BYTES,
        frees="trimming frees none; transactional.id.expiration.ms (a restart) or deleting the topic does",
    ),
    Era(
        (3, 4),
        "producer.id.expiration.ms",
        dynamic=True,
        trim_frees=False,
        bytes_an_id=SCALA_BYTES,
        frees="trimming frees none; producer.id.expiration.ms (no restart) or deleting the topic does",
    ),
    Era(
        (3, 5),
        "producer.id.expiration.ms",
        dynamic=True,
        trim_frees=False,
        bytes_an_id=JAVA_BYTES,
        frees="trimming frees none; producer.id.expiration.ms (no restart) or deleting the topic does",
    ),
)
"""Oldest first. KAFKA-7190 (2.4) kept ids whose records are gone, KIP-854 (3.4) gave ids an expiry of their own."""


def expires_after(version: str) -> float:
    """Return after how many seconds a broker of this version lets an id go, unless it is told otherwise."""
    return seconds("broker", era_of(version).setting, version)


def era_of(version: str) -> Era:
    """Return the era of a version such as 2.8.2; the newest where the text is no version."""
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    known = [era for era in ERAS if not numbers or era.since <= numbers]
    return known[-1] if known else ERAS[0]
