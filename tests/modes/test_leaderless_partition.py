"""Cases beyond the recordings: events of the broker's host, and output that a person pastes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leadsman.catalogue import MODES
from leadsman.model import Finding, Verdict
from leadsman.sections import Section, exit_line, section_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from leadsman.model import Diagnosis

pytestmark = pytest.mark.spark

RECORDED = MODES / "leaderless_partition" / "recorded"
FROZEN = RECORDED / "broken-frozen-java"


def audit(at: datetime, host: str) -> str:
    """A live migration in Google's audit log."""
    payload = {
        "methodName": "compute.instances.migrateOnHostMaintenance",
        "resourceName": f"projects/payments/zones/europe-west1-b/instances/{host}",
    }
    return json.dumps([{"protoPayload": payload, "timestamp": at.isoformat()}], indent=1)


MINUTE = timedelta(minutes=1)
CALM = [0.0] * 20


def looks(until: datetime, shares: Sequence[float], every: timedelta = MINUTE) -> Iterator[str]:
    """The samples that `collect host` writes of a host of two processors; a share is the CPU steal since the last one.

    The last look is at `until`. The numbers are those of a real host, the eighth one apart.
    """
    at, steal = until - len(shares) * every, 2062
    for share in (0.0, *shares):
        steal += round(share * 2 * every.total_seconds() * 100)
        yield section_line(Section(at, "kafka-3", "host/processors.txt", "grep ^cpu /proc/stat"))
        yield f"cpu  2613451 16119 457630 2003160 13944 0 14603 {steal} 0 0\n"
        yield f"cpu0 1239091 7869 221320 1080148 3532 0 5779 {steal // 2} 0 0\n"
        yield f"cpu1 1374360 8249 236309 923011 10411 0 8824 {steal - steal // 2} 0 0\n"
        yield exit_line(0)
        at += every


def prometheus(at: datetime) -> str:
    """Samples of Prometheus of a host of two processors, one of which waited for the hypervisor for 15 s after `at`."""
    calm = [[at.timestamp() + 15 * number, "10.31"] for number in range(-60, 1)]
    series = [
        {
            "metric": {"__name__": "node_cpu_seconds_total", "cpu": cpu, "instance": "kafka-3:9100", "mode": "steal"},
            "values": [*calm, [at.timestamp() + 15, last]],
        }
        for cpu, last in (("0", "25.31"), ("1", "10.31"))
    ]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": series}})


def sysstat(at: datetime) -> str:
    """Five hours of sysstat data up to `at`, in which the last ten minutes differ."""
    rows = [(f"{at - 10 * number * MINUTE:%Y-%m-%d %H:%M:%S}", "0.10" if number else "21.70") for number in range(30)]
    head = "# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle\n"
    return head + "".join(
        f"kafka-3;600;{when} UTC;-1;66.70;0.00;5.06;0.00;{steal};28.14\n" for when, steal in reversed(rows)
    )


STEAL = {
    "looks": lambda at: looks(at + MINUTE, [*CALM, 0.55, 0.8, 0.0]),
    "prometheus": prometheus,
    "sysstat": lambda at: sysstat(at + 5 * MINUTE),
}
NOT_OF_THE_LOSS = {
    "a neighbour that steals all day": lambda at: looks(at, [0.3, 0.35, 0.25, 0.32, 0.3] * 5),
    "a neighbour that steals in bursts": lambda at: looks(at, [0.0, 0.0, 0.0, 0.3] * 6),
    "less than a tenth": lambda at: looks(at, [*CALM, 0.09, 0.0]),
    "another day": lambda at: looks(at - timedelta(days=1), [*CALM, 0.8, 0.0]),
    "long before": lambda at: looks(at, [*CALM, 0.8, *CALM]),
    "a host that nobody looked at before": lambda at: looks(at, [0.8, 0.8]),
    "a counter that began anew": lambda at: looks(at, [*CALM, -0.8, 0.0]),
}


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


def with_maintenance(at: datetime, folder: Path) -> None:
    shutil.copytree(FROZEN, folder, dirs_exist_ok=True)
    (folder / "cloud").mkdir()
    (folder / "cloud" / "events.json").write_text(audit(at, "kafka-3"))


def with_a_clock_jump(at: datetime, folder: Path) -> None:
    shutil.copytree(FROZEN, folder, dirs_exist_ok=True)
    line = f"{at:%Y-%m-%dT%H:%M:%S}.000000+00:00 kafka-3 chronyd[612]: System clock wrong by 30.412345 seconds\n"
    (folder / "kafka-3.log").write_text(line * 2)


def with_leader_counts(at: datetime, folder: Path) -> None:
    """Counts of leaders by the metric, beside clients alone."""
    shutil.copytree(FROZEN / "clients", folder / "clients")
    counts = {"kafka-1:7071": (3, 5), "kafka-3:7071": (3, 1)}
    series = [
        {
            "metric": {"__name__": "kafka_server_replicamanager_leadercount", "instance": broker},
            "values": [[at.timestamp() - 60, str(before)], [at.timestamp() + 60, str(after)]],
        }
        for broker, (before, after) in counts.items()
    ]
    answer = {"status": "success", "data": {"resultType": "matrix", "result": series}}
    (folder / "range.json").write_text(json.dumps(answer))


def with_steal(outputs: Callable[[datetime], Iterable[str]], at: datetime, folder: Path) -> None:
    shutil.copytree(FROZEN / "clients", folder / "clients")
    (folder / "kafka-3.txt").write_text("".join(outputs(at.replace(microsecond=0))))


def pasted(_at: datetime, folder: Path) -> None:
    shutil.copytree(FROZEN / "clients", folder / "logs")
    (folder / "describe.txt").write_text(TOPICS)
    (folder / "groups.txt").write_text(GROUPS)


def of_consumers(names: Sequence[str], _at: datetime, folder: Path) -> None:
    for number, name in enumerate(names):
        shutil.copy(FROZEN / "clients" / f"{name}.log", folder / f"{number}.log")


CASES: dict[str, Callable[[datetime, Path], None]] = {
    "maintenance near the loss": lambda at, folder: with_maintenance(at - timedelta(seconds=2), folder),
    "maintenance of another day": lambda _, folder: with_maintenance(datetime(2026, 1, 1, tzinfo=UTC), folder),
    "a clock jump": lambda at, folder: with_a_clock_jump(at + timedelta(seconds=30), folder),
    "leader counts": with_leader_counts,
    "pasted": pasted,
    "one consumer": partial(of_consumers, ["billing"]),
    "two consumers": partial(of_consumers, ["billing", "audit"]),
    **{what: partial(with_steal, outputs) for what, outputs in {**STEAL, **NOT_OF_THE_LOSS}.items()},
}

Find = Callable[[list[Path]], list[Finding]]


@pytest.fixture(scope="module")
def find(diagnosed: Callable[..., list[Diagnosis]]) -> Find:
    """The findings of captures, with the points of their pages."""

    def run(captures: list[Path]) -> list[Finding]:
        diagnoses = diagnosed(captures, ["leaderless_partition"], points=True)
        return [next(each for each in one.findings if each.mode == "leaderless_partition") for one in diagnoses]

    return run


@pytest.fixture(scope="module")
def frozen(find: Find) -> Finding:
    """The finding of the recording in which a broker was frozen."""
    (finding,) = find([FROZEN])
    return finding


@pytest.fixture(scope="module")
def lost(frozen: Finding) -> datetime:
    """When the broker was lost."""
    assert frozen.since is not None
    return frozen.since


@pytest.fixture(scope="module")
def findings(find: Find, lost: datetime, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Finding]:
    """The finding of each case, all in one Spark job: one by one each would take seconds."""
    folders = {name: tmp_path_factory.mktemp("leaderless") for name in CASES}
    for name, write in CASES.items():
        write(lost, folders[name])
    return dict(zip(folders, find(list(folders.values())), strict=True))


def test_maintenance_of_the_host_near_the_loss_is_reported_quoted_and_drawn(findings) -> None:
    finding = findings["maintenance near the loss"]

    leaderless = finding.chain[0]
    assert finding.verdict is Verdict.PRESENT
    assert finding.figures["action"] == "migrate"
    assert "migrateOnHostMaintenance" in leaderless.evidence[0].text
    assert [(point.subject, point.outcome) for point in finding.points if point.subject == "host kafka-3"] == [
        ("host kafka-3", "migrate")
    ]


def test_leader_counts_come_from_the_metric_where_there_are_no_metadata(findings) -> None:
    leaders = [point for point in findings["leader counts"].points if point.outcome == "leaders"]

    assert sorted((point.subject, point.value) for point in leaders) == [
        ("broker kafka-1:7071", 3.0),
        ("broker kafka-1:7071", 5.0),
        ("broker kafka-3:7071", 1.0),
        ("broker kafka-3:7071", 3.0),
    ]


def test_imbalance_is_the_largest_leader_count_divided_by_the_average(frozen: Finding) -> None:
    last = {point.subject: point.value or 0.0 for point in frozen.points if point.outcome == "leaders"}
    imbalance = [point.value for point in frozen.points if point.outcome == "imbalance"]

    assert imbalance[0] == 1.0
    assert imbalance[-1] == pytest.approx(max(last.values()) / (sum(last.values()) / len(last)))


def test_maintenance_of_another_day_is_not_reported(findings) -> None:
    finding = findings["maintenance of another day"]

    assert "action" not in finding.figures
    assert not [point for point in finding.points if point.subject.startswith("host ")]


def test_a_clock_jump_shows_how_long_the_host_was_stopped(findings) -> None:
    assert findings["a clock jump"].figures["clock_jump"] == pytest.approx(30.412345)


def quoted(finding: Finding) -> list[str]:
    """The lines of the host that the first link quotes."""
    return [line.text for line in finding.chain[0].evidence if line.file == "kafka-3.txt"]


def test_cpu_steal_at_the_loss_is_reported_quoted_and_drawn(findings, lost: datetime) -> None:
    at, finding = lost.replace(microsecond=0), findings["looks"]

    drawn = sorted((point.outcome, point.at) for point in finding.points if point.subject == "host kafka-3")

    assert (finding.figures["steal_host"], finding.figures["steal_seconds"], finding.figures["steal_interval"]) == (
        "kafka-3",
        pytest.approx(48),
        60,
    )
    assert "kafka-3 had 48 s of CPU steal in 60 s" in finding.chain[0].explanation
    assert "The host kafka-3 had high CPU steal near the loss of the broker." in finding.summary
    assert [line.split()[8] for line in quoted(finding)] == ["8662", "18262"]
    assert drawn == [("CPU steal", at - MINUTE), ("CPU steal", at)]


@pytest.mark.parametrize("what", NOT_OF_THE_LOSS)
def test_usual_cpu_steal_near_the_loss_is_not_reported(what: str, findings) -> None:
    finding = findings[what]

    drawn = [point for point in finding.points if point.subject.startswith("host ")]

    assert finding.verdict is Verdict.PRESENT
    assert "steal_seconds" not in finding.figures
    assert (drawn, quoted(finding)) == ([], [])


def test_cpu_steal_is_found_in_the_samples_of_prometheus(findings) -> None:
    finding = findings["prometheus"]

    assert (finding.figures["steal_host"], finding.figures["steal_interval"]) == ("kafka-3:9100", 15)
    assert finding.figures["steal_seconds"] == pytest.approx(7.5)


def test_cpu_steal_is_found_in_the_day_that_sysstat_recorded(findings) -> None:
    finding = findings["sysstat"]

    assert finding.figures["steal_seconds"] == pytest.approx(130.2)
    assert [line.split(";")[8] for line in quoted(finding)] == ["21.70"]


def test_output_pasted_beside_the_log_of_a_consumer_gives_the_same_verdict(findings) -> None:
    finding = findings["pasted"]

    assert finding.verdict is Verdict.PRESENT
    assert (finding.figures["groups_without_members"], finding.figures["lag_records"]) == (1, 554)
    assert "1 group has no member left and lags 554 records behind in all" in finding.chain[2].explanation


@pytest.mark.parametrize(("case", "verdict"), [("one consumer", Verdict.UNKNOWN), ("two consumers", Verdict.PRESENT)])
def test_one_consumer_proves_no_missing_leader_but_two_do(case: str, verdict: Verdict, findings) -> None:
    assert findings[case].verdict is verdict
