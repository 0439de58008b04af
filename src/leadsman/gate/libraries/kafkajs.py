"""kafkajs, and its compatible successor of Confluent: producers come from a `Kafka` object."""

from leadsman.gate.library import Library

LIBRARY = Library(
    name="kafkajs",
    languages=("typescript",),
    modules=("kafkajs", "@confluentinc/kafka-javascript"),
    constructors={},
    factories={"Kafka": {"producer": "producer", "consumer": "consumer", "admin": "admin"}},
    names={
        "retry.retries": "retries",
        "idempotent": "enable.idempotence",
        "transactionalId": "transactional.id",
    },
    distributions=("kafkajs",),
    sends=frozenset({"send", "sendBatch"}),
    send_waits=True,
)
