"""An output is read as what it is however long its one line is: a block of a file can end before or within it."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from datetime import UTC
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from leadsman import vocabulary as names
from leadsman.pipeline.events import batches
from leadsman.pipeline.read.blocks import BLOCK_BYTES, LONGEST_LINE_BYTES
from leadsman.pipeline.read.stream import read
from leadsman.pipeline.scope.streams import list_files
from leadsman.telemetry.outputs.json_value_lines import ValueLines

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from leadsman.pipeline.events import EventRow

SEVERAL_BLOCKS_BYTES = 2 * BLOCK_BYTES
"""A longer line begins in one block, fills a second, and ends in a third, wherever it begins."""
SEVERAL_PIECES_BYTES = 2 * LONGEST_LINE_BYTES
"""A longer line is handed out in three pieces; the second is neither its beginning nor its end."""
SECTION = "### leadsman 2026-11-21T12:00:00.000Z broker-1 state/x.txt $ command\n{}### leadsman exit 0\n"
REMARKS = {"alone": "", "below a remark": "WARNING: something of no matter\n"}


def count_longer_than(size_bytes: int, printed: Callable[[int], str]) -> int:
    """Return how many entries make an output longer than this: an even number, as some are of two brokers."""
    thousand_bytes = len(printed(2000)) - len(printed(1000))
    return 1000 * (size_bytes // thousand_bytes + 1)


def events_of(folder: Path) -> pa.Table:
    """As columns: making a row of each of so many events takes longer than reading them."""
    events = (each for stream in list_files(str(folder)).streams for each in read(stream, UTC))
    return pa.Table.from_batches(batches(events))


def address(number: int) -> str:
    return f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"


def one_line(document: object) -> str:
    return json.dumps(document, separators=(",", ":")) + "\n"


def log_dirs(count: int) -> str:
    replicas = [{"partition": f"t-{at // 12}-{at % 12}", "size": at, "offsetLag": 0} for at in range(count // 2)]
    folder = {"partitions": replicas, "error": None, "logDir": "/data"}
    return one_line({"brokers": [{"broker": each, "logDirs": [folder]} for each in (1, 2)], "version": 1})


def prometheus(count: int) -> str:
    metric = {"__name__": "kafka_producer_id_count", "instance": "broker-1"}
    series = [{"metric": metric, "values": [[1_700_000_000 + at, str(at)]]} for at in range(count)]
    return one_line({"status": "success", "data": {"resultType": "matrix", "result": series}})


def amazon(count: int) -> str:
    each = [
        {"NetworkInterfaceId": f"eni-{at}", "PrivateIpAddress": address(at), "Pad": "x" * 20} for at in range(count)
    ]
    return one_line({"NetworkInterfaces": each})


def google(count: int) -> str:
    kind = {"kind": "compute#instance"}
    return one_line([{**kind, "id": str(at), "networkInterfaces": [{"networkIP": address(at)}]} for at in range(count)])


def audit(count: int) -> str:
    payload = {"methodName": "compute.instances.hostError", "resourceName": "projects/p/zones/z/instances/kafka-1"}
    return one_line([{"protoPayload": payload, "timestamp": "2026-11-21T12:22:01Z"}] * count)


def azure(count: int) -> str:
    event = {"EventType": "Freeze", "Resources": ["vm-1"], "NotBefore": "Mon, 21 Nov 2026 12:00:00 GMT"}
    return one_line({"DocumentIncarnation": 1, "Events": [event] * count})


def statuses(count: int) -> str:
    event = {"Code": "system-reboot", "NotBefore": "2026-11-21T12:22:01Z"}
    return one_line({"InstanceStatuses": [{"InstanceId": "i-1", "Events": [event]}] * count})


def neighbours(count: int) -> str:
    known = {"dev": "eth0", "lladdr": "02:00:00:00:00:01", "state": ["REACHABLE"]}
    return one_line([{"dst": address(at), **known} for at in range(count)])


PRINTED = {
    log_dirs: names.LOG_SIZE,
    prometheus: names.METRIC,
    amazon: names.INSTANCE_SEEN,
    google: names.INSTANCE_SEEN,
    audit: names.HOST_MAINTENANCE,
    azure: names.HOST_MAINTENANCE,
    statuses: names.HOST_MAINTENANCE,
    neighbours: names.NEIGHBOUR_ENTRY,
}


def plain(path: Path, text: str) -> None:
    path.write_text(text)


def compressed(path: Path, text: str) -> None:
    path.write_bytes(gzip.compress(text.encode(), 1))


def section(path: Path, text: str) -> None:
    path.write_text(SECTION.format(text))


@pytest.mark.parametrize("remark", [pytest.param(text, id=name) for name, text in REMARKS.items()])
@pytest.mark.parametrize("write", [plain, compressed, section])
@pytest.mark.parametrize(("printed", "event"), [pytest.param(*each, id=each[0].__name__) for each in PRINTED.items()])
def test_an_output_of_one_line_is_read_whole(
    printed: Callable[[int], str],
    event: str,
    *,
    write: Callable[[Path, str], None],
    remark: str,
    tmp_path: Path,
) -> None:
    count = count_longer_than(SEVERAL_BLOCKS_BYTES, printed)
    text = printed(count)
    assert len(text) > SEVERAL_BLOCKS_BYTES
    write(tmp_path / "x.txt", remark + text)

    found = events_of(tmp_path)

    places: Any = Counter(zip(found["name"].to_pylist(), found["line"].to_pylist(), strict=True))
    assert {line: number for (name, line), number in places.items() if name == event} == {
        1 + bool(remark) + (write is section): count
    }
    assert names.FILE_NOT_UNDERSTOOD not in found["name"].to_pylist()


@pytest.mark.parametrize(("printed", "event"), [(log_dirs, names.LOG_SIZE), (neighbours, names.NEIGHBOUR_ENTRY)])
def test_a_line_longer_than_any_log_s_is_read_whole(printed: Callable[[int], str], event: str, tmp_path: Path) -> None:
    count = count_longer_than(SEVERAL_PIECES_BYTES, printed)
    text = printed(count)
    assert len(text) > SEVERAL_PIECES_BYTES
    (tmp_path / "x.txt").write_text("A remark of the tool\n" + text)

    found: Any = Counter(events_of(tmp_path)["name"].to_pylist())

    assert (found[event], found[names.FILE_NOT_UNDERSTOOD]) == (count, 0)


def test_log_directories_that_break_off_are_reported(rows: Callable[[Path], list[EventRow]], tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text(
        "A remark\n" + log_dirs(count_longer_than(SEVERAL_BLOCKS_BYTES, log_dirs))[:SEVERAL_BLOCKS_BYTES]
    )

    found = rows(tmp_path)

    (why,) = [row.text for row in found if row.name == names.FILE_NOT_UNDERSTOOD]
    assert "broken JSON of log directories" in (why or "")


def test_what_stands_below_log_directories_is_passed_over(
    rows: Callable[[Path], list[EventRow]], tmp_path: Path
) -> None:
    (tmp_path / "x.txt").write_text(log_dirs(20) + "real 0m2.1s\n")

    found = Counter(row.name for row in rows(tmp_path))

    assert (found[names.LOG_SIZE], found[names.FILE_NOT_UNDERSTOOD]) == (20, 0)


def test_a_log_that_quotes_an_answer_is_a_log(rows: Callable[[Path], list[EventRow]], tmp_path: Path) -> None:
    log = "".join(f"2026-11-21 12:00:0{at},000 INFO [main] app.Main - Asked for figures\n" for at in range(8))
    (tmp_path / "app.log").write_text(log + prometheus(20))

    found: Any = Counter(row.name for row in rows(tmp_path))

    assert (found[names.METRIC], found[names.SUBJECT_ACTIVE]) == (0, 1)


def test_places_are_the_same_on_many_lines_and_on_one() -> None:
    lines = ValueLines('{"a":\n "x",\n "b": "y", "c": "z",\n "d": "x"}')

    reported = [lines.find(value) for value in ("x", "y", "z", "nowhere", "x")]

    middle = ' "b": "y", "c": "z",'
    assert reported == [(2, ' "x",'), (3, middle), (3, middle), (3, middle), (4, ' "d": "x"}')]
