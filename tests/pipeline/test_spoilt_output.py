"""An output that is spoilt somewhere costs that output, and no other."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.events import EventRow
from leadsman.pipeline.read.stream import read
from leadsman.pipeline.scope.streams import list_files

if TYPE_CHECKING:
    from pathlib import Path

MAINTENANCE = (
    '{"insertId":"a1","protoPayload":{"@type":"type.googleapis.com/google.cloud.audit.AuditLog","methodName":'
    '"compute.instances.terminateOnHostMaintenance","resourceName":"projects/p/zones/z/instances/kafka-1"},'
    '"timestamp":"2026-11-21T12:22:01Z"}\n'
)


def reported_of(folder: Path) -> list[tuple[str, str, str | None]]:
    streams = list_files(str(folder)).streams
    rows = [row for stream in streams for row in read(stream, UTC) if isinstance(row, EventRow)]
    return [(row.name, row.file, row.text) for row in rows]


def test_what_cannot_be_read_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    (tmp_path / "spoilt.json").write_text(MAINTENANCE + "0\n")
    (tmp_path / "whole.json").write_text(MAINTENANCE)

    reported = reported_of(tmp_path)

    assert (names.HOST_MAINTENANCE, "whole.json") in [(name, file) for name, file, _ in reported]
    (why,) = [text for name, _, text in reported if name == names.FILE_NOT_UNDERSTOOD]
    assert why is not None
    assert "starts like the output of its program" in why
