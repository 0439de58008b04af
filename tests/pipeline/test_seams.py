"""Nothing shows of where a block of bytes or a batch of events ends."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

import pytest

from leadsman.pipeline.events import ARROW_SCHEMA, EventRow, to_batch
from leadsman.pipeline.read import blocks
from leadsman.pipeline.read.stream import read
from leadsman.pipeline.scope.streams import list_files

if TYPE_CHECKING:
    from pathlib import Path

RECORD = (
    "2021-02-16 00:00:{second:02d}.000 [main] ERROR com.acme.Orders - Publish failed\n"
    "org.apache.kafka.common.errors.TimeoutException: Expiring 3 record(s) for orders-1:120000 ms has passed since\n"
    "\tat com.acme.Orders.publish(Orders.java:77)\n"
    "Caused by: java.io.IOException: No space left on device\n"
)


def read_to_end(folder: Path) -> list[EventRow]:
    (stream,) = list_files(str(folder)).streams
    return [row for row in read(stream, UTC) if isinstance(row, EventRow)]


@pytest.mark.parametrize("size", [64, 100, 150, 200, 333])
def test_a_record_is_one_wherever_a_block_ends(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "app.log").write_text("".join(RECORD.format(second=second) for second in range(40)))
    whole = read_to_end(tmp_path)

    monkeypatch.setattr(blocks, "BLOCK_BYTES", size)
    pieces = read_to_end(tmp_path)

    assert [row.name for row in whole].count("record.expired") == 40
    assert [row for row in pieces if row.name != "file.read"] == [row for row in whole if row.name != "file.read"]


def test_what_is_missing_stays_missing_in_arrow() -> None:
    rows = [
        EventRow("c", 1613433600123, "s", "java_client", "error", "f", 7, "text", 1.5, {"kind": "x", "until": "y"}),
        EventRow("c", None, None, None, "file.read", "g", 0, None, None, {}),
        EventRow("c", 0, "", None, "setting", "ü", 1, "\ud800", 0.0, {"a": ""}),
    ]

    batch = to_batch(rows)

    assert batch.schema.equals(ARROW_SCHEMA)
    batch.validate(full=True)
    assert batch.column("subject").to_pylist() == ["s", None, ""]
    assert [None if at is None else at.timestamp() for at in batch.column("at").to_pylist()] == [
        1613433600.123,
        None,
        0,
    ]
    assert batch.column("value").to_pylist() == [1.5, None, 0.0]
    assert batch.column("labels").to_pylist() == [[("kind", "x"), ("until", "y")], [], [("a", "")]]
    assert batch.column("text").to_pylist() == ["text", None, "?"]
