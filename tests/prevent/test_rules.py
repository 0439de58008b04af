"""The generated rules, judged by Prometheus's own tools: each alert fires on its failure, and on no near miss."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml

from leadsman.catalogue import every_alert, every_mode
from leadsman.prevent.alerts.alert import Severity
from leadsman.prevent.alerts.cases import case_document
from leadsman.prevent.alerts.coverage import coverage, every_signal
from leadsman.prevent.alerts.exporter import ALWAYS, CHOICES, Exporter
from leadsman.prevent.alerts.rules import rule_document, scaled
from leadsman.prevent.alerts.write import RULES, TESTS, write_folder

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from leadsman.prevent.alerts.alert import Alert
    from leadsman.prevent.alerts.coverage import Coverage

ALERTS = [pytest.param(each, id=each.alert.name) for each in every_alert()]
EXPORTERS = [pytest.param(each, id=str(each)) for each in CHOICES]
ALL = coverage(CHOICES, every_alert())


@pytest.fixture(scope="module")
def coverages() -> list[Coverage]:
    """What each exporter alone covers."""
    return [coverage([exporter], every_alert()) for exporter in CHOICES]


def distinct_cases(alert: Alert, coverages: Iterable[Coverage]) -> set[tuple[str, str]]:
    """The rules of an alert alone and its tests, with each exporter: several exporters may have the same ones."""
    covering = [each for each in coverages if alert.name in {one.alert.name for one in each.covered}]
    intervals = {case.interval for case in alert.cases}
    return {
        (yaml.safe_dump(rule_document(single)), yaml.safe_dump(case_document(single, RULES, interval)))
        for single in (each.only(alert.name) for each in covering)
        for interval in intervals
    }


def write_cases(cases: Iterable[tuple[str, str]], folder: Path) -> list[Path]:
    """Write rules and tests; return the files of tests. All rules in every test would take minutes."""
    places = []
    for number, (rules, tests) in enumerate(sorted(cases)):
        place = folder / str(number)
        place.mkdir()
        (place / RULES).write_text(rules)
        (place / "tests.yml").write_text(tests)
        places.append(place / "tests.yml")
    return places


@pytest.mark.parametrize("declared", ALERTS)
def test_broken_fires_and_cured_and_near_misses_stay_silent(declared, coverages, tmp_path: Path, program) -> None:
    files = write_cases(distinct_cases(declared.alert, coverages), tmp_path)

    done = program("promtool", "test", "rules", *files)

    assert files
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_prometheus_and_alertmanager_accept_what_is_written(exporter: Exporter, tmp_path: Path, program) -> None:
    write_folder(coverage([exporter], every_alert()), tmp_path / "alerts")

    rules = program("promtool", "check", "rules", tmp_path / "alerts" / RULES)
    routes = program("amtool", "check-config", tmp_path / "alerts" / "alertmanager.yml")

    assert rules.returncode == 0, rules.stderr
    assert routes.returncode == 0, routes.stderr


@pytest.mark.long
@pytest.mark.parametrize("exporter", EXPORTERS)
def test_the_test_files_pass_as_they_are_written(exporter: Exporter, tmp_path: Path, program) -> None:
    write_folder(coverage([exporter], every_alert()), tmp_path / "alerts")

    done = program("promtool", "test", "rules", *(tmp_path / "alerts" / name for name in TESTS))

    assert done.returncode == 0, done.stdout + done.stderr


def test_a_rule_that_never_fires_fails_its_test(tmp_path: Path, program) -> None:
    single = coverage([Exporter.JMX], every_alert()).only("KafkaProducerIdsKeepGrowing")
    document = rule_document(single)
    rules = [rule for group in document["groups"] for rule in group["rules"]]
    next(rule for rule in rules if "alert" in rule)["expr"] += " > 1e9"
    (tmp_path / RULES).write_text(yaml.safe_dump(document))
    (tmp_path / "tests.yml").write_text(yaml.safe_dump(case_document(single, RULES, "1m")))

    done = program("promtool", "test", "rules", tmp_path / "tests.yml")

    assert done.returncode == 1


@pytest.mark.parametrize("declared", ALERTS)
def test_every_alert_is_tested_broken_cured_and_near_missed(declared) -> None:
    kinds = [(case.name.partition(":")[0], bool(case.firing)) for case in declared.alert.cases]

    assert {("broken", True), ("cured", False), ("near miss", False)} <= set(kinds)


@pytest.mark.parametrize("declared", ALERTS)
def test_every_alert_is_covered_by_some_exporter(declared) -> None:
    assert declared in ALL.covered


@pytest.mark.parametrize("declared", ALERTS)
def test_an_alert_reads_the_signals_that_it_names(declared) -> None:
    read = declared.alert.expression + " ".join(declared.alert.recordings.values())

    assert [name for name in declared.alert.signals if f"leadsman:{name}" not in read] == []


@pytest.mark.parametrize("declared", ALERTS)
def test_the_causes_that_inhibit_an_alert_exist(declared) -> None:
    names = {each.alert.name for each in every_alert()}

    assert set(declared.alert.symptom_of) <= names


@pytest.mark.parametrize("name", every_signal())
def test_every_signal_is_read_by_an_alert_and_names_its_sources(name: str) -> None:
    readers = [each.alert.name for each in every_alert() if name in each.alert.signals]

    assert readers
    assert all(reading.reference for reading in every_signal()[name].readings.values())


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_what_an_exporter_does_not_cover_has_a_reason(exporter: Exporter) -> None:
    found = coverage([exporter], every_alert())
    names = {each.alert.name for each in every_alert()}

    assert {each.alert.name for each in found.covered} | set(found.not_covered) == names
    assert all(reasons and all(reasons) for reasons in found.not_covered.values())


def test_the_exporter_that_is_named_first_is_read() -> None:
    assert coverage([Exporter.STRIMZI, Exporter.JMX], every_alert()).sources["leaders"] is Exporter.STRIMZI
    assert coverage([Exporter.JMX, Exporter.STRIMZI], every_alert()).sources["leaders"] is Exporter.JMX


def test_hosts_are_covered_with_every_exporter() -> None:
    sources = [coverage([exporter], every_alert()).sources["syn_recv"] for exporter in CHOICES]

    assert set(sources) <= set(ALWAYS)


def test_thresholds_are_those_of_the_detectors() -> None:
    modes = {mode.name: mode for mode in every_mode()}
    expressions = {each.alert.name: each.alert for each in every_alert()}
    growing = expressions["KafkaProducerIdsKeepGrowing"]
    steal = expressions["HostCpuSteal"]

    assert {each.name: each.value for each in growing.thresholds} == {
        name: modes["producer_id_leak"].parameters[name] for name in ("min_ids_per_hour", "min_ids")
    }
    assert steal.thresholds[0].value == modes["leaderless_partition"].parameters["steal_share"]


def test_pages_and_tickets_have_a_route_and_information_has_none() -> None:
    severities = {each.alert.severity for each in every_alert()}

    assert severities == set(Severity)


def test_the_lab_divides_every_duration_and_no_number() -> None:
    rule = {"expr": "min_over_time(x[30m:5m]) * 3600 > 60 and x offset 1h", "for": "10m"}

    (group,) = scaled({"groups": [{"name": "a", "rules": [rule]}]}, 60)["groups"]

    assert group["rules"] == [{"expr": "min_over_time(x[30s:5s]) * 3600 > 60 and x offset 60s", "for": "10s"}]


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_the_readme_has_a_row_for_each_alert_covered_or_not(exporter: Exporter, tmp_path: Path) -> None:
    write_folder(coverage([exporter], every_alert()), tmp_path / "alerts")

    readme = (tmp_path / "alerts" / "README.md").read_text()
    assert [each.alert.name for each in every_alert() if f"| `{each.alert.name}` |" not in readme] == []


def test_a_table_row_of_the_readme_has_as_many_cells_as_its_head(tmp_path: Path) -> None:
    write_folder(coverage(CHOICES, every_alert()), tmp_path / "alerts")

    rows = [
        line for line in (tmp_path / "alerts" / "README.md").read_text().splitlines() if line.startswith("| `Kafka")
    ]
    assert {row.replace("\\|", "").count("|") for row in rows} == {7}
