"""What Prometheus scrapes: exporters by job, address and the name of their instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leadsman.lab.processes.ports import ADDRESS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leadsman.lab.run.run_context import RunContext

BROKERS, SERVICES, HOSTS = "kafka", "orders", "node"
"""Prometheus's jobs."""

AGENT_PORT = 9404
"""jmx_exporter's usual port, in the names of instances."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One exporter. `instance` is its name where that is not the address.

    `series_job` is the job of its series, if another than its own: two exporters can measure one host. Of the second
    exporter Prometheus then keeps the `series` alone, a regular expression of their names.
    """

    job: str
    address: str
    instance: str = ""
    series_job: str = ""
    series: str = ""


def targets_of(context: RunContext) -> list[Target]:
    """Return the brokers and the workers that expose metrics on this machine's network: none if they have their own."""
    if context.fabric is not None:
        return []
    brokers = [
        Target(job=BROKERS, address=f"{ADDRESS}:{node.metrics_port}")
        for node in context.cluster.nodes
        if node.metrics_port is not None
    ]
    workers = [
        Target(job=SERVICES, address=f"{ADDRESS}:{worker.metrics_port}", instance=f"{worker.name}:{AGENT_PORT}")
        for worker in context.workers.values()
        if worker.metrics_port is not None
    ]
    return [*brokers, *workers]


def scrape_configs(targets: Sequence[Target]) -> list[dict[str, Any]]:
    """Return Prometheus's configuration of these targets: one entry for each job."""
    return [
        _scrape_config([each for each in targets if each.job == job]) for job in {each.job: None for each in targets}
    ]


def _scrape_config(targets: Sequence[Target]) -> dict[str, Any]:
    first = targets[0]
    kept = {"action": "keep", "source_labels": ["__name__"], "regex": first.series}
    renamed = {"target_label": "job", "replacement": first.series_job}
    return {
        "job_name": first.job,
        "static_configs": [
            {"targets": [each.address], "labels": {"instance": each.instance} if each.instance else {}}
            for each in targets
        ],
        "metric_relabel_configs": [kept, renamed] if first.series_job else [],
    }
