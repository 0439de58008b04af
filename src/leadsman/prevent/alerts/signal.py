"""What a signal is: one series under one name of ours, and the metric of each exporter that measures it.

Alerts read nothing but recorded signals. So an alert is one expression, whatever the exporter calls its metrics.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leadsman.prevent.alerts.exporter import SCOPES, Exporter

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "leadsman:"
"""Of all recorded series. A colon marks a recording rule (Prometheus, naming of metrics)."""

NAMED_METRIC = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*(\{[^{}]*\})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExporterMetric:
    """How one exporter measures a signal.

    `metric` is a selector, `older` that of the exporter's earlier releases where they named it otherwise. `labels`
    renames: the signal's label, and the exporter's label for it. `transform` is an expression around the renamed
    metric, which is `{metric}` there. `reference` says where the metric's name is documented or defined; `misses` what
    this exporter does not see of the signal.
    """

    metric: str
    reference: str
    older: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    transform: str = ""
    misses: str = ""

    @property
    def is_direct(self) -> bool:
        """Whether the recorded value is the metric's own, so that tests can begin at the exporter's metric."""
        return not self.transform and NAMED_METRIC.fullmatch(self.metric) is not None

    def expression(self, exporter: Exporter) -> str:
        """Return the PromQL of the recording rule."""
        renamed = f"({self.metric} or {self.older})" if self.older else self.metric
        for label, theirs in self.renames(exporter).items():
            renamed = f'label_replace({renamed}, "{label}", "$1", "{theirs}", "(.+)")'
        return self.transform.format(metric=renamed) if self.transform else renamed

    def renames(self, exporter: Exporter) -> dict[str, str]:
        """Return the signal's labels by the exporter's name of each, the cluster's among them."""
        cluster_label = SCOPES[exporter].cluster_label
        return {**({"cluster": cluster_label} if cluster_label else {}), **self.labels}


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One measured quantity. `not_measured` gives the reason for an exporter where its scope is not the reason."""

    meaning: str
    readings: Mapping[Exporter, ExporterMetric]
    not_measured: Mapping[Exporter, str] = field(default_factory=dict)

    def why_not_measured(self, exporter: Exporter) -> str:
        """Return why an exporter does not give this signal."""
        return self.not_measured.get(exporter, SCOPES[exporter].sees)


def broker_readings(
    *, jmx: str, msk: str, strimzi: str = "", transform: str = "", jmx_source: str = "", misses: str = ""
) -> dict[Exporter, ExporterMetric]:
    """Return the readings of a broker's MBean by jmx_exporter, Strimzi and MSK: one MBean under three names."""
    example = jmx_source or "prometheus/jmx_exporter examples/kafka-2_0_0.yml and kafka-kraft-3_0_0.yml"
    return {
        Exporter.JMX: ExporterMetric(metric=jmx, reference=example, transform=transform, misses=misses),
        Exporter.STRIMZI: ExporterMetric(
            metric=strimzi or jmx,
            reference="strimzi/strimzi-kafka-operator examples/metrics/kafka-metrics.yaml",
            transform=transform,
            misses=misses,
        ),
        Exporter.MSK: ExporterMetric(
            metric=msk,
            reference="Amazon MSK, Use Prometheus metrics (all of Kafka's JMX metrics); AWS's recipe for MSK "
            "names kafka_server_ReplicaManager_Value and kafka_controller_KafkaController_Value",
            transform=transform,
            misses=misses,
        ),
    }
