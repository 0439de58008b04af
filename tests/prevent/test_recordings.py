"""The rules on the series that the lab recorded: each client's leak fires, the cured service and near misses do not."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import pytest
import yaml

from leadsman.catalogue import every_alert, modes_named
from leadsman.prevent.alerts.coverage import coverage
from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.rules import rule_document, scaled

if TYPE_CHECKING:
    from pathlib import Path

TOO_SHORT = ("broken-deployed-java", "broken-out-of-memory-java")
"""Their leaks last 28 s and come in parts; the rule looks back for half an hour, which 30 s stand for."""

(MODE,) = modes_named(["producer_id_leak"])
RECORDED = [
    pytest.param(folder, id=folder.name)
    for folder in MODE.recordings()
    if (folder / "metrics" / "broker-1.prom").exists() and folder.name not in TOO_SHORT
]

ALERT, METRIC = "KafkaProducerIdsKeepGrowing", "kafka_server_replicamanager_produceridcount"
SCALE = 60
"""30 s, the length of the runs, stand for the half hour that the rule looks back."""


def recorded_counts(folder: Path) -> list[tuple[float, float]]:
    """The seconds since the first scrape, and the number of ids."""
    at, counts = None, []
    for line in (folder / "metrics" / "broker-1.prom").read_text().splitlines():
        if line.startswith("### leadsman 2"):
            at = datetime.fromisoformat(line.split()[2])
        if line.startswith(METRIC + " ") and at is not None:
            counts.append((at.timestamp(), float(line.split()[1])))
    return [(at - counts[0][0], count) for at, count in counts]


def per_second(counts: list[tuple[float, float]]) -> str:
    """A value for each second, between two scrapes on the line between their counts."""
    seconds = range(int(counts[-1][0]) + 1)
    values = []
    for second in seconds:
        before = max((each for each in counts if each[0] <= second), key=lambda each: each[0])
        after = min((each for each in counts if each[0] > second), key=lambda each: each[0], default=before)
        share = (second - before[0]) / (after[0] - before[0]) if after != before else 0
        values.append(before[1] + share * (after[1] - before[1]))
    return " ".join(f"{value:g}" for value in values)


@pytest.mark.parametrize("folder", RECORDED)
def test_the_alert_agrees_with_the_recording(folder: Path, tmp_path: Path, program) -> None:
    single = coverage([Exporter.JMX], every_alert()).only(ALERT)
    (tmp_path / "rules.yml").write_text(yaml.safe_dump(scaled(rule_document(single), SCALE)))
    counts = recorded_counts(folder)
    samples = [{"labels": "{}", "value": 1}] if folder.name.startswith("broken") else []
    fired = f'max(max_over_time(ALERTS{{alertname="{ALERT}", alertstate="firing"}}[1h]))'
    test = {
        "interval": "1s",
        "input_series": [{"series": METRIC + '{instance="broker-1"}', "values": per_second(counts)}],
        "promql_expr_test": [{"expr": fired, "eval_time": f"{int(counts[-1][0])}s", "exp_samples": samples}],
    }
    document = {"rule_files": ["rules.yml"], "evaluation_interval": "1s", "tests": [test]}
    (tmp_path / "tests.yml").write_text(yaml.safe_dump(document))

    done = program("promtool", "test", "rules", tmp_path / "tests.yml")

    assert done.returncode == 0, done.stdout + done.stderr
