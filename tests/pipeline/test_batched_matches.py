"""Lines that are reported at once say what they would say one by one."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from leadsman import vocabulary as names
from leadsman.catalogue import every_mode
from leadsman.pipeline.events import EventRow
from leadsman.pipeline.read import batched_matches
from leadsman.pipeline.read.records import EventExtractor
from leadsman.redaction import MASK
from leadsman.telemetry.source import all_signatures

RECORDED = [folder for mode in every_mode() for folder in sorted((mode.folder / "recorded").iterdir())]

CLOSED = "[Producer clientId=producer-1] Node {node} disconnected."

Rows = Callable[[Path], list[EventRow]]


def sorted_rows(rows: list[EventRow]) -> list[str]:
    return sorted(repr(row._replace(labels=dict(sorted(row.labels.items())))) for row in rows)


@pytest.mark.parametrize("capture", RECORDED, ids=lambda path: f"{path.parent.parent.name}-{path.name}")
def test_a_recorded_capture_has_the_same_events_in_batches_and_one_by_one(
    capture: Path, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batched_matches, "MIN_BATCH_LINES", 0)
    at_once = rows(capture)
    monkeypatch.setattr(batched_matches, "MIN_BATCH_LINES", 1 << 40)

    assert sorted_rows(at_once) == sorted_rows(rows(capture))


def test_many_lines_are_events_with_their_numbers_times_and_clients(rows: Rows, log_of, tmp_path: Path) -> None:
    lines = [(second, CLOSED.format(node=second % 3)) for second in range(100)]
    (tmp_path / "app.log").write_text(log_of(lines).replace("\n", "\r\n"))

    closed = sorted((row for row in rows(tmp_path) if row.name == names.CONNECTION_CLOSED), key=lambda row: row.line)

    assert [row.line for row in closed] == list(range(1, 101))
    assert [row.labels for row in closed] == [{"node": str(n % 3), "client_id": "producer-1"} for n in range(100)]
    assert {(row.at or 0) - 1000 * place for place, row in enumerate(closed)} == {closed[0].at}
    assert [row.text for row in closed] == (tmp_path / "app.log").read_text().splitlines()


def test_what_is_evaluated_in_a_batch_is_masked_as_well(rows: Rows, log_of, tmp_path: Path) -> None:
    secret = "Node 1 disconnected. sasl.password=hunter2"
    (tmp_path / "app.log").write_text(log_of([*((n, CLOSED.format(node=n)) for n in range(50)), (50, secret)]))

    texts = [str(row.text) for row in rows(tmp_path) if row.name == names.CONNECTION_CLOSED]

    assert len(texts) == 51
    assert [text for text in texts if "hunter2" in text] == []
    assert [text for text in texts if MASK in text] != []


def test_a_line_with_lines_below_it_is_no_record_of_one_line(rows: Rows, log_of, tmp_path: Path) -> None:
    record = log_of([(0, CLOSED.format(node=1))]) + "java.io.IOException: No space left on device\n"
    (tmp_path / "app.log").write_text(record * 50)

    reported = rows(tmp_path)

    assert [row.name for row in reported].count(names.CONNECTION_CLOSED) == 50
    assert [row for row in reported if row.name == names.ERROR] == []


def test_most_signatures_can_be_evaluated_in_batches() -> None:
    assert (
        sum(batched_matches.is_self_contained((index,)) for index in range(len(all_signatures())))
        > len(all_signatures()) / 3
    )


RETRIED = (
    "[Producer clientId=producer-1] Got error produce response with correlation id {n} on topic-partition orders-1, "
    "retrying (2147483646 attempts left). Error: NOT_LEADER_OR_FOLLOWER"
)
UNAVAILABLE = (
    "[Producer clientId=producer-1] Error while fetching metadata with correlation id {n} : "
    "{{orders=LEADER_NOT_AVAILABLE}}"
)


def test_lines_of_several_events_or_an_error_that_one_explains_are_evaluated_in_a_batch(
    rows: Rows, log_of, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [(n, wording.format(n=n)) for n in range(100) for wording in (RETRIED, UNAVAILABLE)]
    (tmp_path / "app.log").write_text(log_of([*lines, (100, CLOSED.format(node=1))]))
    extracted: list[object] = []

    def record_call(*messages: object) -> list[EventRow]:
        extracted.append(messages)
        return []

    monkeypatch.setattr(EventExtractor, "extract", record_call)

    counts = Counter(row.name for row in rows(tmp_path))

    reported = (names.PRODUCE_RETRIED, names.NOT_LEADER, names.LEADER_NOT_AVAILABLE)
    assert [counts[name] for name in reported] == [100, 100, 100]
    assert counts[names.ERROR] == 0
    assert len(extracted) == 1
