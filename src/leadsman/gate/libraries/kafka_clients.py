"""Apache Kafka's own Java clients, Kafka Streams, and Spring's factories for them."""

from leadsman.gate.library import Library

LIBRARY = Library(
    name="kafka-clients",
    languages=("java", "kotlin"),
    modules=("org.apache.kafka", "org.springframework.kafka"),
    constructors={
        "KafkaProducer": "producer",
        "DefaultKafkaProducerFactory": "producer",
        "KafkaConsumer": "consumer",
        "DefaultKafkaConsumerFactory": "consumer",
        "KafkaStreams": "streams",
        "AdminClient.create": "admin",
        "Admin.create": "admin",
        "KafkaAdminClient.create": "admin",
    },
    setting_classes={
        "ProducerConfig": "producer",
        "ConsumerConfig": "consumer",
        "StreamsConfig": "streams",
        "AdminClientConfig": "admin",
        "CommonClientConfigs": "client",
        "TopicConfig": "topic",
    },
    defaults={"producer": "producer", "consumer": "consumer", "admin": "admin", "streams": "streams"},
    distributions=("org.apache.kafka:kafka-clients", "kafka-clients"),
    sends=frozenset({"send"}),
    flushes=frozenset({"flush"}),
)
