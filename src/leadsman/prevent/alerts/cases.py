"""The test file of promtool: every case of every alert, from the exporter's own metrics to the firing alert."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from leadsman.prevent.alerts.rules import rule_document
from leadsman.prevent.alerts.signal import PREFIX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leadsman.prevent.alerts.alert import Case
    from leadsman.prevent.alerts.coverage import Coverage

LABEL = re.compile(r'(\w+)(=~|!=|=)"([^"]*)"')
SERIES = re.compile(r"(?P<signal>\w+)(?:\{(?P<labels>.*)\})?")


def case_document(found: Coverage, rules_file: str, interval: str) -> dict[str, Any]:
    """Return the content of the test file of the cases with one interval: promtool reads it beside the rule file."""
    tests = [
        test_of(each.alert.name, case, {name: input_name(found, name) for name in case.series})
        for each in found.covered
        for case in each.alert.cases
        if case.interval == interval
    ]
    groups = [group["name"] for group in rule_document(found)["groups"]]
    return {
        "rule_files": [rules_file],
        "evaluation_interval": interval,
        "group_eval_order": groups,  # else promtool's order is random, and alerts read signals of the evaluation before
        "tests": tests,
    }


def test_of(alert: str, case: Case, names: Mapping[str, str]) -> dict[str, Any]:
    """Return one test: the series by the names that Prometheus sees, and how many alerts fire."""
    samples = [{"labels": "{}", "value": case.firing}] if case.firing else []
    return {
        "name": f"{alert}, {case.name}",
        "interval": case.interval,
        "input_series": [{"series": names[name], "values": values} for name, values in case.series.items()],
        "promql_expr_test": [
            {
                "expr": f'count(ALERTS{{alertname="{alert}", alertstate="firing"}})',
                "eval_time": case.at,
                "exp_samples": samples,
            }
        ],
    }


def input_name(found: Coverage, series: str) -> str:
    """Return a case's series as the exporter names it; as recorded where the recording is no plain metric.

    `up` is Prometheus's own.
    """
    parts = SERIES.fullmatch(series)
    assert parts is not None, series
    signal = str(parts["signal"])
    labels = {name: value for name, _, value in LABEL.findall(parts["labels"] or "")}
    if signal not in found.sources:
        return _series(signal, labels)
    reading = found.reading(signal)
    if not reading.is_direct:
        return _series(PREFIX + signal, labels)
    theirs = reading.renames(found.sources[signal])
    metric, _, matchers = reading.metric.partition("{")
    fixed = {name: value for name, operator, value in LABEL.findall(matchers) if operator == "="}
    return _series(metric, {**fixed, **{theirs.get(name, name): value for name, value in labels.items()}})


def _series(name: str, labels: Mapping[str, str]) -> str:
    pairs = ",".join(f'{label}="{value}"' for label, value in labels.items())
    return f"{name}{{{pairs}}}"
