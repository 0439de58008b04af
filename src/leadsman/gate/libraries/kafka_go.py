"""segmentio/kafka-go: writers, which have no idempotence."""

from leadsman.gate.library import Library

LIBRARY = Library(
    name="kafka-go",
    languages=("go",),
    modules=("github.com/segmentio/kafka-go",),
    constructors={"NewWriter": "producer", "Writer": "producer", "NewReader": "consumer"},
    distributions=("github.com/segmentio/kafka-go",),
    sends=frozenset({"WriteMessages"}),
    send_waits=True,
)
