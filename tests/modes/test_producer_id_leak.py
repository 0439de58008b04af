"""Cases beyond the recordings: a single source, owners of topics, the clients that requested ids."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest

from leadsman.catalogue import MODES
from leadsman.model import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from leadsman.model import Finding

pytestmark = pytest.mark.spark

RECORDED = MODES / "producer_id_leak" / "recorded"
SECTION = re.compile(r"^### leadsman .*\n", re.MULTILINE)
REQUEST = (
    '[2026-11-21 12:10:{:02},100] DEBUG Completed request:{{"isForwarded":false,"requestHeader":{{"requestApiKey":22,'
    '"requestApiVersion":6,"correlationId":2,"clientId":"order-events","requestApiKeyName":"INIT_PRODUCER_ID"}},'
    '"request":{{"transactionalId":null}},"response":{{"errorCode":0,"producerId":18}},'
    '"connection":"127.0.0.1:9092-10.2.3.4:53124-0-17","totalTimeMs":0.9}} (kafka.request.logger)\n'
)


@pytest.fixture
def finding_of(diagnosed) -> Callable[[Path], Finding | None]:
    def run(path: Path) -> Finding | None:
        (diagnosis,) = diagnosed([path], ["producer_id_leak"])
        return next((each for each in diagnosis.findings if each.mode == "producer_id_leak"), None)

    return run


@pytest.fixture
def part_of(tmp_path: Path) -> Callable[..., Path]:
    """A capture of some files of a recording only."""

    def run(recording: str, *files: str) -> Path:
        for file in files:
            target = tmp_path / "part" / file
            target.parent.mkdir(parents=True, exist_ok=True)
            source = RECORDED / recording / file
            (shutil.copytree if source.is_dir() else shutil.copyfile)(source, target)
        return tmp_path / "part"

    return run


@pytest.mark.parametrize("source", ["kafka/producers.txt", "data", "brokers/1/server.log"])
def test_each_source_that_shows_topics_is_enough(source: str, part_of, finding_of) -> None:
    finding = finding_of(part_of("broken-java", source))

    assert finding is not None
    assert finding.verdict is Verdict.PRESENT


@pytest.mark.parametrize(
    ("recording", "source"),
    [
        ("broken-java", "jvm/broker-1/class_histogram.txt"),
        ("broken-java", "metrics/broker-1.prom"),
        ("broken-out-of-memory-java", "jvm/broker-1/heap_dump.txt"),
    ],
)
def test_counts_of_whole_brokers_alone_are_unknown_and_name_the_missing_data(
    recording: str, source: str, part_of, finding_of
) -> None:
    finding = finding_of(part_of(recording, source))

    assert finding is not None
    assert finding.verdict is Verdict.UNKNOWN
    assert finding.next.startswith("leadsman collect kafka")


def test_output_of_plain_tools_gives_the_same_verdict_without_section_lines(part_of, finding_of) -> None:
    part = part_of("broken-java", "brokers/1/server.log", "jvm/broker-1/class_histogram.txt")
    histogram = part / "jvm/broker-1/class_histogram.txt"
    last = SECTION.split(histogram.read_text())[-2]
    histogram.write_text(last)

    finding = finding_of(part)

    assert finding is not None
    assert finding.verdict is Verdict.PRESENT
    assert "histogram" not in finding.figures
    assert finding.figures["id_heap_bytes"] > 0


def test_a_leak_that_expiry_will_stop_shows_its_rate_and_its_level(finding_of) -> None:
    figures = finding_of(RECORDED / "broken-java").figures

    assert figures["per_hour"] > 10_000
    assert 0 < figures["heap_percent"] < 1
    assert figures["plateau_bytes"] > figures["id_heap_bytes"]


def test_a_leak_without_expiry_shows_the_heap_and_the_time_until_it_is_full(finding_of) -> None:
    figures = finding_of(RECORDED / "broken-out-of-memory-java").figures

    assert figures["heap_percent"] > 30
    assert 0 < figures["until_full_low"] <= figures["until_full_high"] < 3600


def test_topics_are_named_with_their_owners(part_of, finding_of) -> None:
    part = part_of("broken-java", "kafka/producers.txt")
    (part / "owners").write_text("# topic owners\nbilling.*  team-billing\norder?  team-orders\n*  platform\n")

    assert ", of team-orders)" in finding_of(part).summary


def test_the_request_log_shows_the_clients_that_requested_ids(part_of, finding_of) -> None:
    part = part_of("broken-java", "kafka/producers.txt")
    (part / "kafka-request.log").write_text("".join(REQUEST.format(second) for second in range(40)))

    assert "most went to order-events (10.2.3.4) 40." in finding_of(part).summary


def test_one_count_of_ids_shows_neither_growth_nor_an_out_of_memory_error(part_of, finding_of) -> None:
    part = part_of("broken-java", "kafka/producers.txt")
    census = part / "kafka/producers.txt"
    census.write_text("### leadsman 2026" + census.read_text().rpartition("### leadsman 2026")[2])

    finding = finding_of(part)

    assert finding.verdict == "UNKNOWN"
    assert "does not show whether the number of ids grows" in finding.summary
    assert "out of memory" not in finding.summary


def test_a_client_that_took_one_id_is_not_named_beside_a_leak(finding_of) -> None:
    assert "steady-1" not in finding_of(RECORDED / "broken-out-of-memory-java").summary


def test_an_out_of_memory_error_is_quoted(finding_of) -> None:
    heap = next(link for link in finding_of(RECORDED / "broken-out-of-memory-java").chain if link.link == "heap")

    assert any("OutOfMemoryError" in evidence.text for evidence in heap.evidence)


def test_a_leak_that_was_deployed_during_the_capture_begins_at_the_deployment(finding_of) -> None:
    finding = finding_of(RECORDED / "broken-deployed-java")

    assert finding.verdict is Verdict.PRESENT
    assert finding.changes


def test_an_out_of_memory_broker_and_its_heap_dump_name_the_holders_of_the_ids(finding_of) -> None:
    finding = finding_of(RECORDED / "broken-out-of-memory-java")

    assert finding.figures["oom_errors"] > 0
    assert "ProducerStateManager.producers" in str(finding.figures["heap_holders"])
