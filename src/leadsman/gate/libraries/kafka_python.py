"""kafka-python and kafka-python-ng: keyword arguments."""

from leadsman.gate.library import Library

LIBRARY = Library(
    name="kafka-python",
    languages=("python",),
    modules=("kafka",),
    constructors={
        "KafkaProducer": "producer",
        "KafkaConsumer": "consumer",
        "KafkaAdminClient": "admin",
    },
    defaults={"producer": "kafka-python producer", "consumer": "kafka-python consumer"},
    are_keywords=True,
    distributions=("kafka-python", "kafka-python-ng"),
    sends=frozenset({"send"}),
    flushes=frozenset({"flush"}),
    oldest_idempotent="3.0",
)
