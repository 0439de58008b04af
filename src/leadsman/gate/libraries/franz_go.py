"""franz-go: options as calls."""

from leadsman.gate.library import Library

LIBRARY = Library(
    name="franz-go",
    languages=("go",),
    modules=("github.com/twmb/franz-go/pkg/kgo",),
    constructors={"NewClient": "producer"},
    options={
        "ConnIdleTimeout": "connections.max.idle.ms",
        "RecordRetries": "retries",
        "TransactionalID": "transactional.id",
    },
    distributions=("github.com/twmb/franz-go",),
    sends=frozenset({"Produce", "ProduceSync", "TryProduce"}),
    flushes=frozenset({"Flush"}),
)
