"""Plays a variant of an experiment under Prometheus's eyes, and measures when each alert fired and ended."""

from __future__ import annotations

import tempfile
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leadsman.catalogue import every_alert, modes_named
from leadsman.lab.alerts.panels import panels_with_data
from leadsman.lab.alerts.prometheus import Monitoring, monitoring
from leadsman.lab.oracles.producer_ids import BROKER_CRASHED
from leadsman.lab.processes.ports import ADDRESS
from leadsman.lab.run.reproduce import run
from leadsman.lab.run.run_context import FAULT_INJECTED, RECOVERED
from leadsman.lab.workload.services import STOPPED_STATES
from leadsman.prevent.alerts.alertmanager import alertmanager_document
from leadsman.prevent.alerts.coverage import coverage
from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.rules import rule_document, scaled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from leadsman.lab.run.run_context import RunContext

OURS = "leadsman.rules.yml"
BASELINE_SECONDS = 8.0
"""Scrapes before the variant begins, so that Prometheus knows the brokers as they were."""

ENDS_WITHIN_SECONDS = 45.0
"""After the cure: longer than the longest scaled window of a page."""

LOOKS_EVERY_SECONDS = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A variant to play.

    `scale`: so many times faster than in production; durations of the mode's rules, and of public rules, are divided by
    it. `cures_by_end`: the end of the variant's programs is the cure.
    """

    mode: str
    variant: str
    scale: float
    cures_by_end: bool = False


TRIALS = (
    Trial(mode="producer_id_leak", variant="broken", scale=60, cures_by_end=True),
    Trial(mode="producer_id_leak", variant="broken_out_of_memory", scale=60, cures_by_end=True),
    Trial(mode="producer_id_leak", variant="cured", scale=60, cures_by_end=True),
    Trial(mode="producer_id_leak", variant="cured_late", scale=60, cures_by_end=True),
    Trial(mode="producer_id_leak", variant="fleet", scale=60, cures_by_end=True),
    Trial(mode="producer_id_leak", variant="big_records", scale=60, cures_by_end=True),
    Trial(mode="producer_id_leak", variant="transactional", scale=60, cures_by_end=True),
    Trial(mode="leaderless_partition", variant="broken", scale=12),
    Trial(mode="leaderless_partition", variant="broken_frozen", scale=12),
    Trial(mode="leaderless_partition", variant="broken_isr_lost", scale=12),
    Trial(mode="leaderless_partition", variant="rolling_restart", scale=12),
    Trial(mode="leaderless_partition", variant="own_exception", scale=12),
    Trial(mode="leaderless_partition", variant="rebalance_storm", scale=12),
    Trial(mode="leaderless_partition", variant="not_enough_replicas", scale=12),
)
"""`producer_id_leak`: 30 s, the length of its runs, stand for the half hour that the rule looks back.
`leaderless_partition`: the scenario's own scale."""


@dataclass(slots=True, kw_only=True)
class Observation:
    """What was seen during one variant, by the lab's clock."""

    began: datetime | None = None
    cured: datetime | None = None
    harmed: datetime | None = None
    ended: datetime | None = None
    firing: Mapping[str, list[tuple[datetime, datetime]]] = field(default_factory=dict)
    still_firing: set[str] = field(default_factory=set)
    notified: Mapping[str, str] = field(default_factory=dict)
    panels: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)


def measure(trial: Trial, others: Mapping[str, Any], progress: Callable[[str], None]) -> dict[str, Any]:
    """Play a trial and return what was seen, in seconds after the variant's fault; `others` are further rule files."""
    (mode,) = modes_named([trial.mode])
    experiment, seen = mode.scenario.EXPERIMENT, Observation()
    variant = experiment.variant(trial.variant)
    watched = replace(
        variant,
        run=partial(_watch, play=variant.run, trial=trial, others=others, seen=seen),
        brokers=replace(variant.brokers, is_monitored=True),
    )
    changed = replace(experiment, variants={**experiment.variants, trial.variant: watched})
    with tempfile.TemporaryDirectory(prefix="leadsman-alerts-") as folder:
        outcome = run(changed, out=Path(folder) / "capture", variant=trial.variant, progress=progress)
    return _figures(trial, seen, dict(outcome.harm))


def _watch(
    context: RunContext,
    *,
    play: Callable[[RunContext], None],
    trial: Trial,
    others: Mapping[str, Any],
    seen: Observation,
) -> None:
    """Start Prometheus, play the variant, and wait until the alerts have ended."""
    found = coverage([Exporter.JMX], every_alert())
    ours = {each.alert.name for each in found.covered}
    rules = {OURS: scaled(rule_document(found), trial.scale, mode=trial.mode)}
    rules |= {name: scaled(document, trial.scale) for name, document in others.items()}
    targets = [f"{ADDRESS}:{node.metrics_port}" for node in context.cluster.nodes if node.metrics_port is not None]
    with (
        tempfile.TemporaryDirectory(prefix="leadsman-prometheus-") as folder,
        monitoring(Path(folder), targets=targets, rules=rules, alertmanager=alertmanager_document(found)) as prometheus,
    ):
        context.wait(BASELINE_SECONDS)
        seen.began = datetime.now(UTC)
        with _looking(context, prometheus, seen) as over:
            play(context)
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


@contextmanager
def _looking(context: RunContext, prometheus: Monitoring, seen: Observation) -> Iterator[threading.Event]:
    """Let a thread note the harm, and what Alertmanager does, until the end; yield the event that ends it."""
    over = threading.Event()
    looking = threading.Thread(target=_look, args=(context, prometheus, seen, over), daemon=True)
    looking.start()
    try:
        yield over
    finally:
        over.set()
        looking.join()


def _look(context: RunContext, prometheus: Monitoring, seen: Observation, over: threading.Event) -> None:
    """Note when the first service stopped, and what Alertmanager did with each alert."""
    while not over.wait(LOOKS_EVERY_SECONDS):
        states = [service.last_report.get("state") for service in context.services.values()]
        if seen.harmed is None and STOPPED_STATES & set(map(str, states)):
            seen.harmed = datetime.now(UTC)
        seen.notified = {**seen.notified, **prometheus.notified()}


def _figures(trial: Trial, seen: Observation, harm: Mapping[str, int]) -> dict[str, Any]:
    assert seen.began is not None
    began = seen.began

    def seconds(at: datetime | None) -> float | None:
        return None if at is None else round((at - began).total_seconds(), 1)

    return {
        "mode": trial.mode,
        "variant": trial.variant,
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
