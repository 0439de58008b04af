"""Whatever a file holds, reading it ends, raises nothing, and leaves the files beside it as they are."""

from __future__ import annotations

import bz2
import gzip
import json
import random
import struct
import subprocess
import sys
from datetime import UTC
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from leadsman import vocabulary as names
from leadsman.pipeline.events import TIMES, EventRow, batches, to_batch
from leadsman.pipeline.read.stream import read
from leadsman.pipeline.scope.streams import list_files

if TYPE_CHECKING:
    from pathlib import Path

LINE = "2026-02-16 12:00:00,000 ERROR org.acme.Orders - Expiring 1 record(s) for orders-1:120000 ms has passed\n"
LOG = LINE.encode() * 2000
TIMES_OUT_OF_RANGE = (
    "0001-01-01T00:00:00Z",  # Go's zero time
    "0000-01-01T00:00:00Z",
    "9999-12-31T23:59:60Z",
    "10000-01-01T00:00:00Z",
    "2026-13-45T99:99:99Z",
    "2026-02-16T12:00:00+99:00",
)
NUMBERS_OUT_OF_RANGE = (0, -1, -5, 1e300, -1e300, 10**30, 253402300800, 1e18, float("nan"), float("inf"), "x", None)


def lines(*records: object) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def block(kind: int, length: int, body: bytes = b"") -> bytes:
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)


def dump(*records: tuple[int, bytes], width: int = 8, at: int = 1771243200000) -> bytes:
    head = b"JAVA PROFILE 1.0.2\0" + struct.pack(">IQ", width, at)
    return head + b"".join(struct.pack(">BII", tag, 0, len(body)) + body for tag, body in records)


def heap_class(identifier: int, superclass: int) -> bytes:
    return struct.pack(">BQIQQQQQQIHHH", 0x20, identifier, 0, superclass, 0, 0, 0, 0, 0, 0, 0, 0, 0)


PCAPNG = struct.pack("<IIIHHq", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1) + struct.pack("<I", 28)
PCAP = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
NAMES = ((1, struct.pack(">Q", 9) + b"kafka/X"), (2, struct.pack(">IQIQ", 1, 5, 0, 9)))

FILES = {
    "times of several writers": lines(
        *(
            {"time": at, "level": "error", "msg": "boom", "pod": f"p{n % 3}"}
            for n, at in enumerate(TIMES_OUT_OF_RANGE * 9)
        )
    ),
    "times of one writer": lines(*({"time": at, "level": "error", "msg": "boom"} for at in TIMES_OUT_OF_RANGE * 9)),
    "numbers as times": lines(
        *(
            {"ts": at, "level": "error", "msg": "boom", "host": f"h{n % 2}"}
            for n, at in enumerate(NUMBERS_OUT_OF_RANGE * 9)
        )
    ),
    "years": b"".join(
        f"{year:04d}-01-01 00:00:00,000 ERROR x.Y - boom\n".encode() for year in (0, 1, 1969, 1970, 9999) * 9
    ),
    "epochs": b"".join(
        f"{at} ERROR boom\n".encode() for at in (0, -1, 10**10, 253402300800, 10**14, 10**15, 10**18) * 9
    ),
    "log events of CloudWatch": json.dumps(
        {"events": [{"timestamp": at, "message": "ERROR boom", "logStreamName": "a"} for at in NUMBERS_OUT_OF_RANGE]}
    ).encode(),
    "an export of Elasticsearch": json.dumps(
        [{"@timestamp": at, "message": "ERROR boom", "host": {"name": "a"}} for at in (*TIMES_OUT_OF_RANGE, 1e300)]
    ).encode(),
    "an answer of Loki": json.dumps(
        {"data": {"resultType": "streams", "result": [{"stream": {}, "values": [["9" * 40, "ERROR x"], ["abc", "y"]]}]}}
    ).encode(),
    "a range answer of Prometheus": (
        b'{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"x"},'
        b'"values":[[1e300,"1"],[1771243200,"1e300"],[1771243201,"NaN"],["x","y"],[-1e300,"2"],[1771243203.5,null]]}]}}'
    ),
    "an exporter's page": b'# TYPE x gauge\nkafka_x 1e300\nkafka_y NaN 99999999999999999999\nkafka_z{a="b"} 1 1e300\n',
    "journald": lines(
        *(
            {"__REALTIME_TIMESTAMP": at, "MESSAGE": "ERROR x", "_HOSTNAME": f"h{n % 2}"}
            for n, at in enumerate(("9" * 40, "-1") * 9)
        )
    ),
    "only brackets": b"[" * 100_000,
    "a document that goes deep": b'{"events":[{"timestamp":1771243200000,"message":"x"},' + b'{"a":' * 100_000,
    "an answer that goes deep": b'{"status":"success","data":{"resultType":"matrix","result":[' + b"[" * 100_000,
    "lines that go deep": (b'{"time":"2026-02-16T12:00:00Z","pod":"a","msg":' + b"[" * 50_000 + b"\n") * 5,
    "a number of 10,000 digits": b'{"time":' + b"9" * 10_000 + b',"pod":"a","msg":"x"}\n',
    "halves of surrogate pairs": b'{"time":"2026-02-16T12:00:00Z","pod":"\\ud800","msg":"ERROR \\udfff"}\n' * 30,
    "half a character of UTF-16": ("\ufeff" + LINE * 50).encode("utf-16")[:-1],
    "zeros": bytes(100_000),
    "a section of month 13": b"### leadsman 2026-13-09T10:00:00Z h ss.txt $ ss\nx\n### leadsman exit 0\n" * 3,
    "half a surrogate pair as a time": (
        b'{"results":[[{"field":"@timestamp","value":"2026-02-\\ud800"},{"field":"@message","value":"ERROR \\ud800"}]]}'
    ),
    "neighbours of wrong types": b'[{"dst":1e300,"lladdr":{},"state":[["STALE"]],"dev":null}]',
    "gzip with rubbish behind": gzip.compress(LOG) + b"rubbish" * 100,
    "pcapng, block of length 0": PCAPNG + block(6, 0) * 100,
    "pcapng, block of length 4": PCAPNG + block(6, 4) * 100,
    "pcapng, blocks without body": PCAPNG + block(6, 12) * 10 + block(1, 12) * 3,
    "pcapng, block of 4 GB": PCAPNG + block(6, 0xFFFFFFFC),
    "pcap, packet of 4 GB": PCAP + struct.pack("<IIII", 0, 0, 0xFFFFFFFF, 0xFFFFFFFF),
    "heap dump, its own superclass": dump(
        *NAMES, (0x1C, heap_class(5, 5) + struct.pack(">BQIQI", 0x21, 100, 0, 5, 0)), (0x2C, b"")
    ),
    "heap dump of the year 584 million": dump((1, b"\0" * 8 + b"x"), at=2**64 - 1),
    "heap dump, identifiers of no bytes": dump((1, b""), width=0),
    "heap dump, segment of 4 GB": dump() + struct.pack(">BII", 0x1C, 0, 0xFFFFFFFF),
}


def mutants(packed: bytes, count: int) -> list[bytes]:
    """Copies with some bits flipped, or cut off."""
    chance = random.Random(7)
    made = []
    for number in range(count):
        changed = bytearray(packed)
        for _ in range(chance.choice((1, 5, 50))):
            changed[chance.randrange(4, len(changed))] ^= 1 << chance.randrange(8)
        made.append(bytes(changed[: chance.randrange(4, len(changed))]) if number % 5 == 0 else bytes(changed))
    return made


COMPRESSED = {
    "gzip": gzip.compress(LOG),
    "bzip2": bz2.compress(LOG),
    "zstd": bytes(pa.compress(LOG, codec="zstd", asbytes=True)),
}
MUTANTS = {
    f"{kind} {number}": mutant
    for kind, packed in COMPRESSED.items()
    for number, mutant in enumerate(mutants(packed, 40))
}


def events_of(folder: Path) -> list[dict[str, object]]:
    streams = list_files(str(folder)).streams
    return [row for batch in batches(each for s in streams for each in read(s, UTC)) for row in batch.to_pylist()]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", [*FILES, *MUTANTS])
def test_the_file_is_listed_and_the_log_beside_it_is_read(name: str, tmp_path: Path):
    (tmp_path / "app.log").write_bytes(LOG)
    healthy = events_of(tmp_path)
    (tmp_path / "hostile").write_bytes((FILES | MUTANTS)[name])

    events = events_of(tmp_path)

    assert [each for each in events if each["file"] == "app.log"] == healthy
    assert {names.FILE_READ, names.FILE_NOT_UNDERSTOOD} & {each["name"] for each in events if each["file"] == "hostile"}


def test_an_inventory_that_is_nested_too_deeply_is_an_error(tmp_path: Path):
    text = '{\n    "NetworkInterfaces": [\n        {\n            "Attachment": ' + "[" * 50_000
    (tmp_path / "interfaces.json").write_text(text)

    (event,) = (each for each in events_of(tmp_path) if each["name"] == names.FILE_NOT_UNDERSTOOD)

    assert event["text"] == "is nested too deeply"


def test_a_time_that_is_out_of_range_is_no_time():
    rows = [
        EventRow("c", at, "s", None, names.ERROR, "f", 1, "text", 1.0, {})
        for at in (-1, TIMES.stop, 10**20, TIMES.stop - 1, 0)
    ]

    assert [each.as_py() is None for each in to_batch(rows).column("at")] == [True, True, True, False, False]


def test_go_s_zero_time_is_no_idle_time_of_two_thousand_years(tmp_path: Path):
    records = (
        {"time": at, "pod": f"p{n % 2}", "msg": "ok"}
        for n, at in enumerate(("0001-01-01T00:00:00Z", "2026-02-16T12:00:00Z") * 9)
    )
    (tmp_path / "app.json").write_bytes(lines(*records))

    assert [each for each in events_of(tmp_path) if each["name"] == names.SUBJECT_IDLE] == []


def test_a_link_to_itself_is_listed(tmp_path: Path):
    (tmp_path / "app.log").write_bytes(LOG)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")

    assert [(each.file, each.why) for each in list_files(str(tmp_path)).skipped] == [
        ("loop", "symbolic link that leads to itself")
    ]


@pytest.mark.spark
def test_all_of_them_beside_a_healthy_log_leave_the_exit_code(tmp_path: Path):
    (tmp_path / "app.log").write_bytes(
        b"".join(f"2026-02-16 12:00:{n % 60:02d},000 INFO ok\n".encode() for n in range(100))
    )
    for number, (name, content) in enumerate((FILES | MUTANTS).items()):
        (tmp_path / f"{number} {name}").write_bytes(content)

    command = [sys.executable, "-m", "leadsman", "diagnose", str(tmp_path), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)

    document = json.loads(done.stdout)
    assert set(document["captures"][0]["verdicts"].values()) <= {"ABSENT", "UNKNOWN"}
    assert done.returncode in {0, 3}, done.stderr
