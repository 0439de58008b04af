"""Offset commits of consumer groups."""

from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.signal import ExporterMetric, Signal

SIGNAL = Signal(
    meaning="offsets that a consumer group committed",
    readings={
        Exporter.KMINION: ExporterMetric(
            metric="kminion_kafka_consumer_group_offset_commits_total",
            reference="redpanda-data/kminion docs/metrics.md",
            labels={"group": "group_id"},
            misses="kminion must read the offsets topic (minion.consumerGroups.scrapeMode: offsetsTopic)",
        ),
    },
)
