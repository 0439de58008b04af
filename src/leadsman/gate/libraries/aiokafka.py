"""aiokafka: keyword arguments, and methods that are awaited."""

from leadsman.gate.library import Library

LIBRARY = Library(
    name="aiokafka",
    languages=("python",),
    modules=("aiokafka",),
    constructors={"AIOKafkaProducer": "producer", "AIOKafkaConsumer": "consumer"},
    defaults={"producer": "aiokafka producer", "consumer": "aiokafka consumer"},
    are_keywords=True,
    distributions=("aiokafka",),
    sends=frozenset({"send", "send_and_wait"}),
    flushes=frozenset({"flush"}),
)
