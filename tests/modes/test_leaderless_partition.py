"""What the recordings do not hold: what happened at the host, and what a person pastes by hand."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leadsman.catalogue import MODES
from leadsman.model import Finding, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from leadsman.model import Diagnosis

pytestmark = pytest.mark.spark

RECORDED = MODES / "leaderless_partition" / "recorded"
FROZEN = RECORDED / "broken-frozen-java"


def struck(finding: Finding) -> datetime:
    """When the broker was lost, by the finding."""
    assert finding.since is not None
    return finding.since


def audit(at: datetime, host: str) -> str:
    """A live migration as Google's audit log tells it."""
    payload = {
        "methodName": "compute.instances.migrateOnHostMaintenance",
        "resourceName": f"projects/payments/zones/europe-west1-b/instances/{host}",
    }
    return json.dumps([{"protoPayload": payload, "timestamp": at.isoformat()}], indent=1)


@pytest.fixture
def found(diagnosed: Callable[..., list[Diagnosis]]) -> Callable[[Path], Finding]:
    """The finding of a capture, with the points of its page."""

    def run(capture: Path) -> Finding:
        (diagnosis,) = diagnosed([capture], points=True)
        return next(each for each in diagnosis.findings if each.mode == "leaderless_partition")

    return run


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """A copy of the recording in which a broker was frozen."""
    return Path(shutil.copytree(FROZEN, tmp_path / "capture"))


def test_maintenance_of_the_host_near_the_loss_is_told_quoted_and_drawn(capture: Path, found) -> None:
    at = struck(found(capture)) - timedelta(seconds=2)
    (capture / "cloud").mkdir()
    (capture / "cloud" / "events.json").write_text(audit(at, "kafka-3"))

    finding = found(capture)

    leaderless = finding.chain[0]
    assert finding.verdict is Verdict.PRESENT
    assert finding.figures["action"] == "migrate"
    assert "migrateOnHostMaintenance" in leaderless.evidence[0].text
    assert [(point.subject, point.outcome) for point in finding.points if point.subject == "host kafka-3"] == [
        ("host kafka-3", "migrate")
    ]


def test_who_led_how_many_is_drawn_from_what_brokers_count_where_no_metadata_tells(found, tmp_path: Path) -> None:
    shutil.copytree(FROZEN / "clients", tmp_path / "clients")
    at = struck(found(tmp_path)).timestamp()
    counts = {"kafka-1:7071": (3, 5), "kafka-3:7071": (3, 1)}
    series = [
        {
            "metric": {"__name__": "kafka_server_replicamanager_leadercount", "instance": broker},
            "values": [[at - 60, str(before)], [at + 60, str(after)]],
        }
        for broker, (before, after) in counts.items()
    ]
    answer = {"status": "success", "data": {"resultType": "matrix", "result": series}}
    (tmp_path / "range.json").write_text(json.dumps(answer))

    leaders = [point for point in found(tmp_path).points if point.outcome == "leaders"]

    assert sorted((point.subject, point.value) for point in leaders) == [
        ("broker kafka-1:7071", 3.0),
        ("broker kafka-1:7071", 5.0),
        ("broker kafka-3:7071", 1.0),
        ("broker kafka-3:7071", 3.0),
    ]


def test_imbalance_is_what_the_first_broker_leads_against_the_average(found) -> None:
    points = found(FROZEN).points
    last = {point.subject: point.value for point in points if point.outcome == "leaders"}
    imbalance = [point.value for point in points if point.outcome == "imbalance"]

    assert imbalance[0] == 1.0
    assert imbalance[-1] == pytest.approx(max(last.values()) / (sum(last.values()) / len(last)))


def test_maintenance_of_another_day_is_not(capture: Path, found) -> None:
    (capture / "cloud").mkdir()
    (capture / "cloud" / "events.json").write_text(audit(datetime(2026, 1, 1, tzinfo=UTC), "kafka-3"))

    finding = found(capture)

    assert "action" not in finding.figures
    assert not [point for point in finding.points if point.subject.startswith("host ")]


def test_a_clock_that_leapt_tells_how_long_the_host_stood_still(capture: Path, found) -> None:
    at = struck(found(capture)) + timedelta(seconds=30)
    (capture / "kafka-3.log").write_text(
        f"{at:%Y-%m-%dT%H:%M:%S}.000000+00:00 kafka-3 chronyd[612]: System clock wrong by 30.412345 seconds\n" * 2
    )

    finding = found(capture)

    assert finding.figures["jumped"] == pytest.approx(30.412345)


TOPICS = (
    "Topic: orders\tTopicId: GCRee9CMQFK3aR-b2B7Mew\tPartitionCount: 2\tReplicationFactor: 3\tConfigs: \n"
    "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 3,1,2\tIsr: 1,2\tElr: \tLastKnownElr: \n"
    "\tTopic: orders\tPartition: 1\tLeader: 2\tReplicas: 3,2,1\tIsr: 2,1\tElr: \tLastKnownElr: \n"
)
GROUPS = """
Consumer group 'billing' has no active members.

GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             CONSUMER-ID     HOST            CLIENT-ID
billing         orders          0          74              351             277             -               -               -
billing         orders          1          73              350             277             -               -               -
"""  # noqa: E501 - lines as Kafka's tool prints them


def test_what_a_person_pastes_beside_the_log_of_a_consumer_gives_the_same_verdict(tmp_path: Path, found) -> None:
    shutil.copytree(FROZEN / "clients", tmp_path / "pasted" / "logs")
    (tmp_path / "pasted" / "describe.txt").write_text(TOPICS)
    (tmp_path / "pasted" / "groups.txt").write_text(GROUPS)

    finding = found(tmp_path / "pasted")

    assert finding.verdict is Verdict.PRESENT
    assert (finding.figures["abandoned"], finding.figures["behind"]) == (1, 277)
    assert "1 group has no member left and lag, up to 277 records" in finding.chain[2].says


def test_the_log_of_one_consumer_alone_is_enough(tmp_path: Path, found) -> None:
    (tmp_path / "pasted").mkdir()
    shutil.copy(FROZEN / "clients" / "billing.log", tmp_path / "pasted" / "1.log")

    finding = found(tmp_path / "pasted")

    assert finding.verdict is Verdict.PRESENT
