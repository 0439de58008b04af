"""Runs a variant of an experiment while Prometheus scrapes it, and measures when each alert fired and ended."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leadsman.catalogue import every_alert, modes_named
from leadsman.lab.alerts.host_exporters import agents_of, host_exporters
from leadsman.lab.alerts.panels import panels_with_data
from leadsman.lab.alerts.prometheus import Monitoring, monitoring
from leadsman.lab.alerts.providers import provider_client
from leadsman.lab.alerts.targets import targets_of
from leadsman.lab.oracles.producer_ids import BROKER_CRASHED
from leadsman.lab.run.observed_run import first_failure, has_stopped_service, observed, repeated_beside
from leadsman.lab.run.reproduce import run
from leadsman.lab.run.run_context import FAULT_INJECTED, RECOVERED
from leadsman.prevent.alerts.alertmanager import alertmanager_document
from leadsman.prevent.alerts.coverage import coverage
from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.rules import rule_document, scaled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from leadsman.lab.alerts.trials import AlertTrial
    from leadsman.lab.run.experiment import Experiment, Workload
    from leadsman.lab.run.observed_run import RunVariant
    from leadsman.lab.run.run_context import RunContext

OURS = "leadsman.rules.yml"
BASELINE_SECONDS = 8.0
"""Scrapes before the variant begins, so that Prometheus knows the brokers as they were."""

ENDS_WITHIN_SECONDS = 45.0
"""After the cure: longer than the longest scaled window of a page."""

POLL_SECONDS = 0.2


@dataclass(slots=True, kw_only=True)
class AlertTimes:
    """When the harm, the cure and the alerts of one variant were, by the lab's clock."""

    began: datetime | None = None
    cured: datetime | None = None
    harmed: datetime | None = None
    ended: datetime | None = None
    firing: Mapping[str, list[tuple[datetime, datetime]]] = field(default_factory=dict)
    still_firing: set[str] = field(default_factory=set)
    notified: Mapping[str, str] = field(default_factory=dict)
    panels: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)


def measure(trial: AlertTrial, others: Mapping[str, Any], progress: Callable[[str], None]) -> dict[str, Any]:
    """Run a trial and return what was seen, in seconds after the variant's fault; `others` are further rule files."""
    (mode,) = modes_named([trial.mode])
    experiment, seen = mode.scenario.EXPERIMENT, AlertTimes()
    changed = observed(
        experiment,
        trial.variant,
        partial(_observe, trial=trial, others=others, seen=seen),
        brokers=replace(experiment.variant(trial.variant).brokers, is_monitored=True),
        workload=_workload(experiment, trial),
    )
    client = provider_client() if trial.has_provider else trial.client
    with tempfile.TemporaryDirectory(prefix="leadsman-alerts-") as folder:
        outcome = run(changed, out=Path(folder) / "capture", client=client, variant=trial.variant, progress=progress)
    return _figures(trial, seen, dict(outcome.harm))


def _workload(experiment: Experiment, trial: AlertTrial) -> Workload:
    """Return the variant's workers. Those with a provider have the broken settings: the provider alone is the cure."""
    workload = experiment.variant("broken" if trial.has_provider else trial.variant).workload
    return replace(
        workload,
        settings={**workload.settings, **trial.settings},
        is_monitored=bool(trial.client or trial.has_provider),
    )


def _observe(
    context: RunContext, run_variant: RunVariant, *, trial: AlertTrial, others: Mapping[str, Any], seen: AlertTimes
) -> None:
    """Start Prometheus, run the variant, and wait until the alerts have ended."""
    context.failure_seconds = trial.failure_seconds
    found = coverage(_exporters(context), every_alert())
    ours = {each.alert.name for each in found.covered}
    rules = {OURS: scaled(rule_document(found), trial.scale, mode=trial.mode)}
    rules |= {name: scaled(document, trial.scale) for name, document in others.items()}
    with (
        tempfile.TemporaryDirectory(prefix="leadsman-prometheus-") as folder,
        host_exporters(context.fabric, agents_of(context), Path(folder)) as hosts,
        monitoring(
            Path(folder),
            targets=[*targets_of(context), *hosts],
            rules=rules,
            alertmanager=alertmanager_document(found),
        ) as prometheus,
    ):
        context.wait(BASELINE_SECONDS)
        seen.began = datetime.now(UTC)
        note_times = partial(_note_times, context, prometheus, seen)
        with repeated_beside(note_times, every_seconds=POLL_SECONDS) as over:
            run_variant(context)
            if trial.cures_by_end:
                for worker in context.workers.values():
                    worker.quit()
            seen.cured = context.marks.get(RECOVERED, datetime.now(UTC))
            deadline = datetime.now(UTC) + timedelta(seconds=ENDS_WITHIN_SECONDS)
            while datetime.now(UTC) < deadline and ours & prometheus.firing_now():
                over.wait(1.0)
        seen.began = context.marks.get(FAULT_INJECTED, seen.began)
        seen.harmed = context.marks.get(BROKER_CRASHED, seen.harmed)
        seen.ended = datetime.now(UTC)
        seen.firing = prometheus.firing(seen.began - timedelta(seconds=BASELINE_SECONDS), seen.ended)
        seen.still_firing = prometheus.firing_now()
        seen.panels = panels_with_data(prometheus, found, seen.began, seen.ended)


def _exporters(context: RunContext) -> list[Exporter]:
    """Return what measures Kafka in this run; exporters of hosts are always among the rules'."""
    has_clients = any(worker.metrics_port is not None for worker in context.workers.values())
    return [Exporter.JMX, Exporter.CLIENT] if has_clients else [Exporter.JMX]


def _note_times(context: RunContext, prometheus: Monitoring, seen: AlertTimes) -> None:
    """Note when the first service stopped or the first record failed, and what Alertmanager did with each alert."""
    if seen.harmed is None:
        seen.harmed = first_failure(context) or (datetime.now(UTC) if has_stopped_service(context) else None)
    seen.notified = {**seen.notified, **prometheus.notified()}


def _figures(trial: AlertTrial, seen: AlertTimes, harm: Mapping[str, int]) -> dict[str, Any]:
    assert seen.began is not None
    began = seen.began

    def seconds(at: datetime | None) -> float | None:
        return None if at is None else round((at - began).total_seconds(), 1)

    return {
        "mode": trial.mode,
        "variant": trial.variant,
        "title": trial.title,
        "scale": trial.scale,
        "day": began.date().isoformat(),
        "cured": seconds(seen.cured),
        "harmed": seconds(seen.harmed),
        "harm": {kind: count for kind, count in harm.items() if count},
        "panels": seen.panels,
        "alerts": {
            name: {
                "fired": seconds(spans[0][0]),
                "ended": None if name in seen.still_firing else seconds(spans[-1][1]),
                "spans": [[seconds(first), seconds(last)] for first, last in spans],
                "notified": seen.notified.get(name, ""),
            }
            for name, spans in sorted(seen.firing.items(), key=lambda each: each[1])
        },
    }


def rule_names(documents: Mapping[str, Any]) -> dict[str, Sequence[str]]:
    """Return the alerts of each rule file."""
    return {
        name: [rule["alert"] for group in document["groups"] for rule in group["rules"] if "alert" in rule]
        for name, document in documents.items()
    }
