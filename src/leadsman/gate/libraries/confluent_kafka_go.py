"""confluent-kafka-go: a ConfigMap with librdkafka's names."""

from leadsman.gate.library import Library

LIBRARY = Library(
    name="confluent-kafka-go",
    languages=("go",),
    modules=("github.com/confluentinc/confluent-kafka-go",),
    constructors={"NewProducer": "producer", "NewConsumer": "consumer", "NewAdminClient": "admin"},
    defaults={"producer": "librdkafka", "consumer": "librdkafka", "admin": "librdkafka"},
    names={
        "message.send.max.retries": "retries",
        "message.timeout.ms": "delivery.timeout.ms",
        "request.required.acks": "acks",
    },
    distributions=("github.com/confluentinc/confluent-kafka-go/v2", "github.com/confluentinc/confluent-kafka-go"),
    sends=frozenset({"Produce"}),
    flushes=frozenset({"Flush"}),
)
