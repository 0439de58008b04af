"""The exporters for which rules can be generated, and what each can see at all."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Exporter(StrEnum):
    """Where metrics come from. `NODE` and `BLACKBOX` are about hosts and endpoints, beside any of the others."""

    JMX = "jmx"
    KMINION = "kminion"
    KAFKA_EXPORTER = "kafka-exporter"
    STRIMZI = "strimzi"
    CONFLUENT = "confluent"
    MSK = "msk"
    CLIENT = "client"
    OPENTELEMETRY = "opentelemetry"
    NODE = "node"
    BLACKBOX = "blackbox"


ALWAYS = (Exporter.NODE, Exporter.BLACKBOX)
"""Exporters whose rules are in every output: hosts and certificates are the same, whatever measures Kafka."""

CHOICES = tuple(each for each in Exporter if each not in ALWAYS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExporterScope:
    """What an exporter is. `sees` is the reason why a signal that it does not measure is missing.

    `cluster_label`: the label of its metrics that names the cluster, if it is not called `cluster`.
    """

    title: str
    sees: str
    cluster_label: str = ""


SCOPES = {
    Exporter.JMX: ExporterScope(
        title="jmx_exporter in the brokers and controllers, with its example kafka-2_0_0.yml or kafka-kraft-3_0_0.yml",
        sees="jmx_exporter in brokers and controllers measures what these processes count; it sees no client or host",
    ),
    Exporter.KMINION: ExporterScope(
        title="kminion",
        sees="kminion requests topics, offsets, groups and log sizes by Kafka's protocol; it sees no JVM and no client",
    ),
    Exporter.KAFKA_EXPORTER: ExporterScope(
        title="kafka_exporter (danielqsj)",
        sees="kafka_exporter requests metadata, offsets and groups by Kafka's protocol; it sees no JVM and no client",
    ),
    Exporter.STRIMZI: ExporterScope(
        title="Strimzi, with kafka-metrics.yaml of its examples",
        sees="Strimzi's kafka-metrics.yaml exports what brokers and controllers count; it sees no client or host",
        cluster_label="strimzi_io_cluster",
    ),
    Exporter.CONFLUENT: ExporterScope(
        title="Confluent Cloud, export endpoint of its Metrics API",
        sees="Confluent Cloud runs the brokers itself, and its Metrics API has no such metric",
        cluster_label="kafka_id",
    ),
    Exporter.MSK: ExporterScope(
        title="Amazon MSK with open monitoring",
        sees="MSK's open monitoring exports what brokers count; it sees no client, and MSK runs the controllers itself",
    ),
    Exporter.CLIENT: ExporterScope(
        title="services: leadsman_clients, and jmx_exporter in Java clients and Kafka Streams applications",
        sees="a client's metrics are about that client; they show no state of brokers or of the cluster",
    ),
    Exporter.OPENTELEMETRY: ExporterScope(
        title="OpenTelemetry Collector's kafkametrics receiver",
        sees="the kafkametrics receiver requests metadata, offsets and groups; it sees no JVM and no client",
    ),
    Exporter.NODE: ExporterScope(title="node_exporter", sees="node_exporter measures hosts"),
    Exporter.BLACKBOX: ExporterScope(title="blackbox_exporter", sees="blackbox_exporter probes endpoints"),
}
