"""Brokers that the controller fenced."""

from leadsman.prevent.alerts.signal import Signal, broker_readings

SIGNAL = Signal(
    meaning="registered brokers that the controller fenced",
    readings=broker_readings(
        jmx="kafka_controller_kafkacontroller_fencedbrokercount",
        msk='kafka_controller_KafkaController_Value{name="FencedBrokerCount"}',
        misses="clusters with ZooKeeper fence no brokers; of a KRaft cluster the controllers must be scraped too",
    ),
)
