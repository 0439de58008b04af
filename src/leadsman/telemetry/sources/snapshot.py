"""Kafka's own snapshots of producer state, as they lie in a partition's folder: a census without asking anybody."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman import vocabulary as v
from leadsman.telemetry.census import summary
from leadsman.telemetry.reading import About, Facts, Reading, fact
from leadsman.telemetry.snapshot import NotASnapshot, begins_one, entries_of
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PLACE = re.compile(r"(?:^|/)(?P<topic>[\w.-]+)-(?P<partition>\d+)/(?P<offset>\d{20})\.snapshot")
"""Topic and partition stand in the folder's name only, the offset up to which it is valid in the file's."""


def _facts(blocks: Iterable[bytes], about: About) -> Iterator[Facts]:
    try:
        entries = entries_of(b"".join(blocks))
    except NotASnapshot as error:
        raise OSError(f"looks like a snapshot of producer state, but {error}") from error
    value, labels = summary(
        entries["last_sequence"],
        entries["timestamp"],
        at=about.at,
        offset_delta=entries["offset_delta"],
        coordinator_epoch=entries["coordinator_epoch"],
    )
    where = PLACE.search(about.file)
    place = where.groupdict() if where else {"topic": "?"}
    offset = {"offset": place.pop("offset").lstrip("0") or "0"} if where else {}
    yield fact(v.PRODUCERS_COUNTED, 0, "", value, via="snapshot", **place, **offset, **labels)


SOURCE = Source(
    "snapshot",
    "Kafka producer snapshot",
    "state",
    reading=Reading(tells=begins_one, facts=_facts, reports=frozenset({v.PRODUCERS_COUNTED}), text=False),
)
