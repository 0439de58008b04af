"""sarama: fields of the object that `NewConfig()` returns."""

from leadsman.gate.library import Library

LIBRARY = Library(
    name="sarama",
    languages=("go",),
    modules=("github.com/IBM/sarama", "github.com/Shopify/sarama"),
    constructors={
        "NewSyncProducer": "producer",
        "NewAsyncProducer": "producer",
        "NewConsumer": "consumer",
        "NewConsumerGroup": "consumer",
        "NewClusterAdmin": "admin",
    },
    names={
        "Producer.Retry.Max": "retries",
        "Producer.Idempotent": "enable.idempotence",
        "Producer.Transaction.ID": "transactional.id",
        "Producer.RequiredAcks": "acks",
    },
    distributions=("github.com/IBM/sarama", "github.com/Shopify/sarama"),
    sends=frozenset({"SendMessage", "SendMessages"}),
    send_waits=True,
)
