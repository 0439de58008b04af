"""`leadsman check topics`: what the tools of Kafka print, and definitions of topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

HEALTHY = "Topic: orders\tTopicId: a\tPartitionCount: 2\tReplicationFactor: 3\tConfigs: min.insync.replicas=2\n"
CONFIGS = "All configs for broker 1 are:\n  default.replication.factor=1 sensitive=false synonyms={}\n"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (HEALTHY.replace("Factor: 3", "Factor: 1").replace("=2", "=1"), "one_replica"),
        (HEALTHY.replace("=2", "=3"), "min_insync_needs_every_replica"),
        (HEALTHY.replace("=2", "=1"), "one_copy_acknowledged"),
        (HEALTHY.replace("min.insync.replicas=2", "retention.ms=1000"), "retention_below_lag"),
        (HEALTHY.replace("=2", "=2,unclean.leader.election.enable=true"), "unclean_leader_election"),
        (CONFIGS, "one_replica"),
        (CONFIGS.replace("default.replication.factor=1", "auto.create.topics.enable=true"), "auto_created_topics"),
        (CONFIGS.replace("default.replication.factor=1", "producer.id.expiration.ms=999999999"), "producer_ids_kept"),
    ],
)
def test_a_setting_that_makes_an_incident_is_found(call, tmp_path: Path, text: str, rule: str) -> None:
    file = tmp_path / "topics.txt"
    file.write_text(text, encoding="utf-8")

    result = call("check", "topics", "--lag", "24", file)

    assert result.code == 1
    assert rule in result.out


@pytest.mark.parametrize("text", [HEALTHY, CONFIGS.replace("=1 ", "=3 ")])
def test_healthy_topics_are_exit_code_0(call, tmp_path: Path, text: str) -> None:
    file = tmp_path / "topics.txt"
    file.write_text(text, encoding="utf-8")

    assert call("check", "topics", "--lag", "24", file).code == 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("application.yml", "spring:\n  kafka:\n    producer:\n      acks: ACKS\n"),
        ("producer.properties", "bootstrap.servers=kafka:9092\nacks=ACKS\nlinger.ms=5\n"),
        ("app.py", "from confluent_kafka import Producer\nproducer = Producer({'acks': 'ACKS'})\n"),
    ],
)
@pytest.mark.parametrize("acks", ["1", "all"])
def test_acks_of_producers_are_checked_against_the_topics(
    call, tmp_path: Path, name: str, *, text: str, acks: str
) -> None:
    (tmp_path / "topics.txt").write_text(HEALTHY, encoding="utf-8")
    (tmp_path / name).write_text(text.replace("ACKS", acks), encoding="utf-8")

    result = call("check", "topics", tmp_path / "topics.txt", tmp_path / name)

    assert result.code == int(acks == "1")
    assert ("acks_without_min_insync" in result.out) == (acks == "1")


def test_a_listing_that_powershell_wrote_is_read(call, tmp_path: Path) -> None:
    (tmp_path / "topics.txt").write_text(HEALTHY.replace("Factor: 3", "Factor: 1"), encoding="utf-16")

    assert call("check", "topics", tmp_path / "topics.txt").code == 1


def test_a_program_that_cannot_be_read_is_exit_code_2(call, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_bytes(b"import kafka\0")

    result = call("check", "topics", tmp_path / "app.py")

    assert result.code == 2
    assert "app.py cannot be read: " in result.err


def test_a_file_without_topics_is_exit_code_2(call, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("nothing\n", encoding="utf-8")

    result = call("check", "topics", file)

    assert result.code == 2
    assert "kafka-topics --describe" in result.err
