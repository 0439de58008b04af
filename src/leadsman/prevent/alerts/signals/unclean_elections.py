"""Leaders elected from replicas that were not in sync."""

from leadsman.prevent.alerts.signal import Signal, broker_readings

SIGNAL = Signal(
    meaning="unclean leader elections since the controller started",
    readings=broker_readings(
        jmx="kafka_controller_controllerstats_uncleanleaderelections_total",
        msk='kafka_controller_ControllerStats_Count{name="UncleanLeaderElectionsPerSec"}',
    ),
)
