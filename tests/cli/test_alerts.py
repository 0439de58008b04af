"""`leadsman alerts` writes a folder, and writes over nothing that is not its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

FILES = ["README.md", "alertmanager.yml", "leadsman.rules.yml", "leadsman.tests.days.yml", "leadsman.tests.yml"]


def test_the_folder_holds_rules_tests_routes_and_a_readme(call, tmp_path: Path) -> None:
    result = call("alerts", "--out", str(tmp_path / "new" / "alerts"))

    assert result.code == 0
    assert sorted(path.name for path in (tmp_path / "new" / "alerts").iterdir()) == FILES


def test_a_second_call_replaces_the_first(call, tmp_path: Path) -> None:
    call("alerts", "--out", str(tmp_path / "alerts"))

    result = call("alerts", "--out", str(tmp_path / "alerts"), "--exporter", "confluent")

    assert result.code == 0
    assert "confluent_kafka_server_partition_count" in (tmp_path / "alerts" / "leadsman.rules.yml").read_text()


def test_a_folder_of_others_is_refused_and_left_as_it_is(call, tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_text("groups: []\n")

    result = call("alerts", "--out", str(tmp_path))

    assert result.code == 2
    assert "rules.yml" in result.err
    assert [path.name for path in tmp_path.iterdir()] == ["rules.yml"]


def test_a_file_of_others_in_the_place_of_ours_is_refused(call, tmp_path: Path) -> None:
    call("alerts", "--out", str(tmp_path / "alerts"))
    (tmp_path / "alerts" / "alertmanager.yml").write_text("route: {receiver: me}\n")

    result = call("alerts", "--out", str(tmp_path / "alerts"))

    assert result.code == 2
    assert "alertmanager.yml" in result.err


def test_a_file_is_no_folder(call, tmp_path: Path) -> None:
    (tmp_path / "alerts").write_text("")

    result = call("alerts", "--out", str(tmp_path / "alerts"))

    assert result.code == 2
    assert "--out" in result.err


def test_what_is_not_covered_is_listed_with_its_reason(call, tmp_path: Path) -> None:
    result = call("alerts", "--out", str(tmp_path / "alerts"), "--exporter", "kminion")

    (line,) = [line for line in result.out.splitlines() if "KafkaProducerIdsKeepGrowing" in line]
    assert "kminion" in line
    assert "jmx" in line


def test_an_exporter_that_does_not_exist_could_not_run(call, tmp_path: Path) -> None:
    result = call("alerts", "--out", str(tmp_path / "alerts"), "--exporter", "acme")

    assert result.code == 2
    assert not (tmp_path / "alerts").exists()
