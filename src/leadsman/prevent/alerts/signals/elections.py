"""Elections of leaders after brokers failed."""

from leadsman.prevent.alerts.signal import Signal, broker_readings

SIGNAL = Signal(
    meaning="rounds of leader elections since the controller started",
    readings=broker_readings(
        jmx="kafka_controller_controllerstats_leaderelectionrateandtimems_count",
        msk='kafka_controller_ControllerStats_Count{name="LeaderElectionRateAndTimeMs"}',
        misses="clusters with ZooKeeper alone have this metric; KRaft does not register it",
    ),
)
