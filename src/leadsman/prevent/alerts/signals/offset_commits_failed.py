"""Offset commits that a broker could not store."""

from leadsman.prevent.alerts.signal import Signal, broker_readings

FAILED = "COORDINATOR_NOT_AVAILABLE|COORDINATOR_LOAD_IN_PROGRESS|NOT_COORDINATOR|REQUEST_TIMED_OUT|UNKNOWN_SERVER_ERROR"
"""What brokers answer while a commit cannot be stored. A rebalance answers other errors: they are ordinary."""

SIGNAL = Signal(
    meaning="offset commits that brokers could not store, since the broker started",
    readings=broker_readings(
        jmx=f'kafka_network_requestmetrics_errors_total{{request="OffsetCommit",error=~"{FAILED}"}}',
        msk=f'kafka_network_RequestMetrics_Count{{name="ErrorsPerSec",request="OffsetCommit",error=~"{FAILED}"}}',
        misses="a commit that no broker answered is not counted; the first error of a kind has no rate",
    ),
)
