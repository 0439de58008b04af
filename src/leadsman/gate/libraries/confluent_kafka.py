"""confluent-kafka for Python: dictionaries with librdkafka's names."""

from leadsman.gate.library import Library

LIBRARY = Library(
    name="confluent-kafka",
    languages=("python",),
    modules=("confluent_kafka",),
    constructors={
        "Producer": "producer",
        "SerializingProducer": "producer",
        "AvroProducer": "producer",
        "AIOProducer": "producer",
        "Consumer": "consumer",
        "DeserializingConsumer": "consumer",
        "AvroConsumer": "consumer",
        "AIOConsumer": "consumer",
        "AdminClient": "admin",
    },
    defaults={"producer": "librdkafka", "consumer": "librdkafka", "admin": "librdkafka"},
    names={
        "message.send.max.retries": "retries",
        "message.timeout.ms": "delivery.timeout.ms",
        "request.required.acks": "acks",
    },
    distributions=("confluent-kafka", "confluent_kafka"),
    sends=frozenset({"produce"}),
    flushes=frozenset({"flush"}),
)
