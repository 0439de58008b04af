"""`leadsman changes` on a real capture and on a small one written by hand. In this process, on the shared session."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from leadsman.catalogue import MODES
from leadsman.model import Diagnosis
from leadsman.sections import Section, exit_line, section_line

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

FRIDAY = datetime(2020, 12, 18, 22, 0, tzinfo=UTC)
SUNDAY = FRIDAY + timedelta(hours=34)
LEAK = MODES / "producer_id_leak" / "recorded"

WEEK, DECADE = "604800000", "315360000000"
TAKEN = "ProducerId set to {} with epoch 0"


def topics(retention: str, *others: str, leader: int = 1) -> str:
    """What `kafka-topics --describe` prints of orders and of other topics, with one partition each."""
    heads = {"orders": f"retention.ms={retention}"} | dict.fromkeys(others, "")
    return "".join(
        f"Topic: {name}\tTopicId: x\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: {configs}\n"
        f"\tTopic: {name}\tPartition: 0\tLeader: {leader}\tReplicas: 1,2\tIsr: 1,2\n"
        for name, configs in heads.items()
    )


def look(at: datetime, output: str) -> str:
    """One look at the cluster, as `leadsman collect kafka` writes it."""
    head = section_line(Section(at, "cluster", "kafka/topics.txt", "kafka-topics.sh --describe"))
    return head + output + exit_line(0)


def taken(at: datetime, client: str, number: int) -> str:
    """A Java client's line about the id that it was given."""
    when = f"{at:%Y-%m-%d %H:%M:%S},000"
    return f"[{when}] INFO [Producer clientId={client}] {TAKEN.format(number)} (org.apache.kafka.clients.producer.internals.TransactionManager)\n"  # noqa: E501 - a log line


@pytest.fixture(scope="module")
def weekend(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A topic is kept for ten years from Saturday on, another is made, and a new client takes an id a minute."""
    capture = tmp_path_factory.mktemp("weekend")
    (capture / "kafka").mkdir()
    sights = (look(FRIDAY, topics(WEEK, "gone")), look(SUNDAY, topics(DECADE, "new", leader=2)))
    (capture / "kafka" / "topics.txt").write_text("".join(sights))
    saturday = FRIDAY + timedelta(hours=12)
    lines = [taken(FRIDAY - timedelta(hours=each), "orders", each) for each in (10, 5)]
    lines += [taken(saturday + timedelta(minutes=each), "orders-v2", 100 + each) for each in range(120)]
    (capture / "orders.log").write_text("".join(lines))
    return capture


@pytest.fixture(scope="module")
def result(call_once, weekend: Path) -> dict[tuple[str, str, str], dict[str, Any]]:
    """The weekend's changes by kind, how and key."""
    out = call_once("changes", weekend, "--between", FRIDAY.isoformat(), SUNDAY.isoformat(), "--format", "json").out
    return {(each["kind"], each["how"], each["key"]): each for each in json.loads(out)["changes"]}


def test_a_changed_setting_has_both_values_and_its_line(result) -> None:
    change = result["configuration", "changed", "retention.ms"]

    assert (change["before"], change["after"]) == (WEEK, DECADE)
    assert change["things"] == ["topic orders"]
    assert DECADE in change["evidence"]["text"]


def test_a_thing_that_left_a_list_is_gone_and_one_that_entered_is_new(result) -> None:
    assert result["topic", "new", ""]["things"] == ["new"]
    assert result["topic", "gone", ""]["things"] == ["gone"]


def test_the_partitions_of_a_new_topic_are_not_listed_too(result) -> None:
    assert ("partition", "new", "new") not in result
    assert result["leader", "changed", ""]["things"] == ["orders-0"]


def test_a_client_that_begins_is_new_and_one_that_falls_silent_is_not_gone(result) -> None:
    assert result["client", "new", ""]["things"] == ["orders-v2"]
    assert ("client", "gone", "") not in result


def test_allocated_ids_are_counted_by_the_hour(result) -> None:
    change = result["producer_ids_allocated", "more", ""]

    assert change["things"] == ["orders-v2 (orders-v2)"]
    assert change["before"] == 0
    assert change["after"] == pytest.approx(120 / 22, rel=0.01)


def test_leaders_come_before_settings_and_each_has_its_place(call, weekend: Path) -> None:
    result = call("changes", weekend, "--between", FRIDAY.isoformat(), SUNDAY.isoformat())

    assert result.code == 1
    assert result.out.index("leader of a partition") < result.out.index("retention.ms")
    assert "kafka/topics.txt:8" in result.out
    assert result.err == ""


def configs(broker: int, **settings: str) -> str:
    """What `kafka-configs --describe --all` prints of a broker."""
    lines = (f"  {key.replace('_', '.')}={value} sensitive=false synonyms={{}}\n" for key, value in settings.items())
    return f"All configs for broker {broker} are:\n" + "".join(lines)


def section(at: datetime, file: str, output: str, code: int = 0) -> str:
    return section_line(Section(at, "cluster", file, f"{file} --describe")) + output + exit_line(code)


def test_kinds_that_were_not_collected_are_not_comparable_and_a_lost_leader_comes_first(call, tmp_path: Path) -> None:
    many = {f"odd_setting_{number}": "7" for number in range(40)}
    (tmp_path / "kafka").mkdir()
    (tmp_path / "kafka" / "configs.txt").write_text(
        section(FRIDAY, "configs", configs(1, **many, num_io_threads="3") + configs(2, **many))
        + section(SUNDAY, "configs", configs(1, **many, num_io_threads="5"))
    )
    lost = topics(WEEK, "other").replace("Leader: 1", "Leader: none", 1)
    (tmp_path / "kafka" / "topics.txt").write_text(
        section(FRIDAY, "topics", topics(WEEK, "other", "third"))
        + section(SUNDAY, "topics", lost + "Error: the request timed out\n", 1)
    )

    result = json.loads(
        call("changes", tmp_path, "--between", FRIDAY.isoformat(), SUNDAY.isoformat(), "--format", "json").out
    )

    assert [(each["kind"], each["how"], each["things"], each["after"]) for each in result["changes"]] == [
        ("leader", "changed", ["orders-0"], "none"),
        ("configuration", "changed", ["broker 1"], "5"),
    ]
    assert {each["kind"]: each["count"] for each in result["uncollected"]}["configuration"] >= 40


def test_settings_that_a_program_prints_at_its_start_are_no_change(call, tmp_path: Path) -> None:
    dump = "[{:%Y-%m-%d %H:%M:%S},000] INFO ProducerConfig values: \n\tacks = -1\n\tbatch.size = {}\n\tlinger.ms = 77\n"
    taken_then = [taken(FRIDAY - timedelta(hours=1), "orders", 1)]
    (tmp_path / "orders.log").write_text(
        "".join([*taken_then, dump.format(SUNDAY - timedelta(hours=1), 16384).replace("INFO ", "INFO [main] ")])
    )

    result = call("changes", tmp_path, "--between", FRIDAY.isoformat(), SUNDAY.isoformat(), "--format", "json")

    assert [each for each in json.loads(result.out)["changes"] if each["kind"] == "configuration"] == []


def test_settings_that_come_together_are_one_change(call, tmp_path: Path) -> None:
    before, after = tmp_path / "before.txt", tmp_path / "after.txt"
    before.write_text(configs(1, num_io_threads="3"))
    after.write_text(configs(1, num_io_threads="3", **{f"odd_setting_{number}": "7" for number in range(12)}))

    result = json.loads(call("changes", before, after, "--format", "json").out)["changes"]

    assert [(each["how"], each["things"]) for each in result] == [("new", ["broker 1"])]
    assert result[0]["key"].endswith("and 9 more settings")


def test_two_captures_are_compared_as_two_times_are(call) -> None:
    result = call("changes", LEAK / "healthy-java", LEAK / "broken-java", "--format", "json")

    id_changes = [each for each in json.loads(result.out)["changes"] if each["kind"] == "producer_ids"]
    assert result.code == 1
    assert id_changes[0]["how"] == "more"
    assert id_changes[0]["after"] > 10 * id_changes[0]["before"]


def test_a_capture_against_its_own_copy_is_0(call, weekend: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    copy = tmp_path_factory.mktemp("copy") / "orders.log"
    copy.write_text((weekend / "orders.log").read_text())

    result = call("changes", weekend / "orders.log", copy)

    assert result.code == 0
    assert "0 changes" in result.out


def test_a_side_without_data_is_3_and_names_the_next_command(call, weekend: Path) -> None:
    result = call("changes", weekend, "--between", "2019-01-01", "2019-01-02")

    assert result.code == 3
    assert "leadsman collect kafka" in result.err


@pytest.mark.parametrize(
    ("words", "next_step"),
    [
        (["one"], "--between"),
        (["one", "one"], "--between"),
        (["one", "two", "--between", "2020-01-01", "2020-01-02"], "Leave one of them out"),
        (["one", "--between", "2020-01-02", "2020-01-01"], "earlier time first"),
        (["one", "--between", "monday", "2020-01-01"], "ISO 8601"),
        (["one", "--between", "2020-01-01", "2020-01-02"], "Give a capture"),
    ],
)
def test_a_wrong_call_is_2_and_names_a_right_one(call, words: list[str], next_step: str) -> None:
    result = call("changes", *words)

    assert result.code == 2
    assert next_step in result.err


def test_a_finding_has_the_changes_at_its_beginning(diagnosed_recordings: dict[str, Diagnosis]) -> None:
    findings = diagnosed_recordings[str(LEAK / "broken-deployed-java")].findings

    (finding,) = [each for each in findings if each.mode == "producer_id_leak"]
    more_allocated = [each for each in finding.changes if each.kind == "producer_ids_allocated" and each.how == "more"]
    assert finding.changes[0] == more_allocated[0]
    assert {thing.split("/")[-1] for each in more_allocated for thing in each.things} == {
        "worker-1.log)",
        "worker-2.log)",
    }
