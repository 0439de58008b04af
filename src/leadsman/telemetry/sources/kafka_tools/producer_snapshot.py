"""Snapshots of producer state, as Kafka keeps them in the folder of a partition: they list all producer ids."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman import vocabulary as v
from leadsman.telemetry.outputs.parser import EventColumns, OutputContext, OutputParser, single_event
from leadsman.telemetry.producer_state.snapshot_file import InvalidSnapshot, is_snapshot, read_entries
from leadsman.telemetry.producer_state.summary import summarize_producer_ids
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SNAPSHOT_PATH = re.compile(r"(?:^|/)(?P<topic>[\w.-]+)-(?P<partition>\d+)/(?P<offset>\d{20})\.snapshot")
"""Only the folder's name has topic and partition; the file's name has the offset up to which the snapshot is valid."""


def _parse(blocks: Iterable[bytes], context: OutputContext) -> Iterator[EventColumns]:
    try:
        entries = read_entries(b"".join(blocks))
    except InvalidSnapshot as error:
        raise OSError(f"looks like a snapshot of producer state, but {error}") from error
    value, labels = summarize_producer_ids(
        entries["last_sequence"],
        entries["timestamp"],
        at=context.at,
        offset_delta=entries["offset_delta"],
        coordinator_epoch=entries["coordinator_epoch"],
    )
    match = SNAPSHOT_PATH.search(context.file)
    partition = match.groupdict() if match else {"topic": "?"}
    offset = {"offset": partition.pop("offset").lstrip("0") or "0"} if match else {}
    yield single_event(v.PRODUCERS_COUNTED, 0, "", value, via="snapshot", **partition, **offset, **labels)


SOURCE = Source(
    "snapshot",
    "Kafka producer snapshot",
    "state",
    parser=OutputParser(matches=is_snapshot, parse=_parse, event_names=frozenset({v.PRODUCERS_COUNTED}), text=False),
)
