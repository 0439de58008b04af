"""Cases beyond the recordings: a single source, owners of topics, the clients that requested ids."""

from __future__ import annotations

import re
import shutil
from functools import partial
from typing import TYPE_CHECKING

import pytest

from leadsman.catalogue import MODES
from leadsman.model import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from leadsman.model import Diagnosis, Finding

pytestmark = pytest.mark.spark

RECORDED = MODES / "producer_id_leak" / "recorded"
PRODUCERS, HISTOGRAM = "kafka/producers.txt", "jvm/broker-1/class_histogram.txt"
SECTION = re.compile(r"^### leadsman .*\n", re.MULTILINE)
REQUEST = (
    '[2026-11-21 12:10:{:02},100] DEBUG Completed request:{{"isForwarded":false,"requestHeader":{{"requestApiKey":22,'
    '"requestApiVersion":6,"correlationId":2,"clientId":"order-events","requestApiKeyName":"INIT_PRODUCER_ID"}},'
    '"request":{{"transactionalId":null}},"response":{{"errorCode":0,"producerId":18}},'
    '"connection":"127.0.0.1:9092-10.2.3.4:53124-0-17","totalTimeMs":0.9}} (kafka.request.logger)\n'
)


def copy(folder: Path, *, recording: str, files: Sequence[str]) -> None:
    """Copy some files of a recording only."""
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        source = RECORDED / recording / file
        (shutil.copytree if source.is_dir() else shutil.copyfile)(source, folder / file)


def without_section_lines(folder: Path) -> None:
    copy(folder, recording="broken-java", files=["brokers/1/server.log", HISTOGRAM])
    last = SECTION.split((folder / HISTOGRAM).read_text())[-2]
    (folder / HISTOGRAM).write_text(last)


def with_owners(folder: Path) -> None:
    copy(folder, recording="broken-java", files=[PRODUCERS])
    (folder / "owners").write_text("# topic owners\nbilling.*  team-billing\norder?  team-orders\n*  platform\n")


def with_requests(folder: Path) -> None:
    copy(folder, recording="broken-java", files=[PRODUCERS])
    (folder / "kafka-request.log").write_text("".join(REQUEST.format(second) for second in range(40)))


def counted_once(folder: Path) -> None:
    copy(folder, recording="broken-java", files=[PRODUCERS])
    census = (folder / PRODUCERS).read_text()
    (folder / PRODUCERS).write_text("### leadsman 2026" + census.rpartition("### leadsman 2026")[2])


SHOW_TOPICS = (PRODUCERS, "data", "brokers/1/server.log")
OF_WHOLE_BROKERS = {
    HISTOGRAM: "broken-java",
    "metrics/broker-1.prom": "broken-java",
    "jvm/broker-1/heap_dump.txt": "broken-out-of-memory-java",
}
CASES: dict[str, Callable[[Path], None]] = {
    **{file: partial(copy, recording="broken-java", files=[file]) for file in SHOW_TOPICS},
    **{file: partial(copy, recording=recording, files=[file]) for file, recording in OF_WHOLE_BROKERS.items()},
    "without section lines": without_section_lines,
    "with owners": with_owners,
    "with requests": with_requests,
    "counted once": counted_once,
}
RECORDINGS = ("broken-java", "broken-out-of-memory-java", "broken-deployed-java")


@pytest.fixture(scope="module")
def findings(
    diagnosed: Callable[..., list[Diagnosis]], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Finding | None]:
    """The finding of each case and recording, all in one Spark job: one by one each would take seconds."""
    folders = {name: tmp_path_factory.mktemp("leak") for name in CASES}
    for name, write in CASES.items():
        write(folders[name])
    folders |= {name: RECORDED / name for name in RECORDINGS}
    diagnoses = diagnosed(list(folders.values()), ["producer_id_leak"])
    return {
        name: next((each for each in one.findings if each.mode == "producer_id_leak"), None)
        for name, one in zip(folders, diagnoses, strict=True)
    }


@pytest.mark.parametrize("source", SHOW_TOPICS)
def test_each_source_that_shows_topics_is_enough(source: str, findings) -> None:
    finding = findings[source]

    assert finding is not None
    assert finding.verdict is Verdict.PRESENT


@pytest.mark.parametrize("source", OF_WHOLE_BROKERS)
def test_counts_of_whole_brokers_alone_are_unknown_and_name_the_missing_data(source: str, findings) -> None:
    finding = findings[source]

    assert finding is not None
    assert finding.verdict is Verdict.UNKNOWN
    assert finding.next.startswith("leadsman collect kafka")


def test_output_of_plain_tools_gives_the_same_verdict_without_section_lines(findings) -> None:
    finding = findings["without section lines"]

    assert finding is not None
    assert finding.verdict is Verdict.PRESENT
    assert "histogram" not in finding.figures
    assert finding.figures["id_heap_bytes"] > 0


def test_a_leak_that_expiry_will_stop_shows_its_rate_and_its_level(findings) -> None:
    figures = findings["broken-java"].figures

    assert figures["per_hour"] > 10_000
    assert 0 < figures["heap_percent"] < 1
    assert figures["plateau_bytes"] > figures["id_heap_bytes"]


def test_a_leak_without_expiry_shows_the_heap_and_the_time_until_it_is_full(findings) -> None:
    figures = findings["broken-out-of-memory-java"].figures

    assert figures["heap_percent"] > 30
    assert 0 < figures["until_full_low"] <= figures["until_full_high"] < 3600


def test_topics_are_named_with_their_owners(findings) -> None:
    assert ", of team-orders)" in findings["with owners"].summary


def test_the_request_log_shows_the_clients_that_requested_ids(findings) -> None:
    assert "client.id order-events from 10.2.3.4 (40 ids)." in findings["with requests"].summary


def test_one_count_of_ids_shows_neither_growth_nor_an_out_of_memory_error(findings) -> None:
    finding = findings["counted once"]

    assert finding.verdict == "UNKNOWN"
    assert "does not show whether the number of ids grows" in finding.summary
    assert "out of memory" not in finding.summary


def test_a_client_that_took_one_id_is_not_named_beside_a_leak(findings) -> None:
    assert "steady-1" not in findings["broken-out-of-memory-java"].summary


def test_an_out_of_memory_error_is_quoted(findings) -> None:
    heap = next(link for link in findings["broken-out-of-memory-java"].chain if link.link == "heap")

    assert any("OutOfMemoryError" in evidence.text for evidence in heap.evidence)


def test_a_leak_that_was_deployed_during_the_capture_begins_at_the_deployment(findings) -> None:
    finding = findings["broken-deployed-java"]

    assert finding.verdict is Verdict.PRESENT
    assert finding.changes


def test_an_out_of_memory_broker_and_its_heap_dump_name_the_holders_of_the_ids(findings) -> None:
    finding = findings["broken-out-of-memory-java"]

    assert finding.figures["oom_errors"] > 0
    assert "ProducerStateManager.producers" in str(finding.figures["heap_holders"])


def test_a_leak_is_called_not_urgent_only_where_its_ids_level_off_far_below_the_heap(diagnosed_recordings):
    slow = _leak_figures(diagnosed_recordings, "broken-java")
    out_of_memory = _leak_figures(diagnosed_recordings, "broken-out-of-memory-java")

    assert slow["calm_plateau_bytes"] < slow["limit"] * 0.6
    assert "calm_plateau_bytes" not in out_of_memory


def test_ids_that_no_log_attributes_to_a_client_are_counted(diagnosed_recordings):
    figures = _leak_figures(diagnosed_recordings, "broken-java")

    assert figures["unattributed_ids"] == figures["leaking"] - figures["ids_allocated"] == 153


def _leak_figures(recordings, name):
    diagnosis = recordings[str(MODES / "producer_id_leak" / "recorded" / name)]
    return next(each.figures for each in diagnosis.findings if each.mode == "producer_id_leak")
