"""Producer ids that a broker keeps in memory."""

from leadsman.prevent.alerts.signal import Signal, broker_readings

SIGNAL = Signal(
    meaning="producer ids that a broker keeps in memory, one for each id and partition",
    readings=broker_readings(
        jmx="kafka_server_replicamanager_produceridcount",
        msk='kafka_server_ReplicaManager_Value{name="ProducerIdCount"}',
        misses="brokers before Kafka 3.5 do not have the metric (KIP-847)",
    ),
)
