"""Answers to offset commits."""

from leadsman.prevent.alerts.signal import Signal, broker_readings

SIGNAL = Signal(
    meaning="errors of offset commits that brokers answered, NONE among them, since the broker started",
    readings=broker_readings(
        jmx='kafka_network_requestmetrics_errors_total{request="OffsetCommit"}',
        msk='kafka_network_RequestMetrics_Count{name="ErrorsPerSec",request="OffsetCommit"}',
        misses="a commit that no broker answered is not counted; the first error of a kind has no rate",
    ),
)
