"""What is configured, measured and counted."""

from leadsman import vocabulary as names
from leadsman.event_types.connections import PARTITION
from leadsman.event_types.definition import EventType

CLASS = {"class": "the Java class; `total` is all classes", "pid": "the process"}
LIVE = "false where objects that are garbage are counted, too"

EVENTS = (
    EventType(
        names.SETTING,
        "A setting and its value, as a log or a file shows it.",
        value="the setting's value where it is a number",
        labels={
            "key": "the setting's name",
            "owner": "whose setting: producer, consumer, broker, topic, cluster, host",
            "topic": "the topic, of a topic's setting",
            "broker": "the broker, of a broker's setting",
            "origin": "where the value comes from, as kafka-configs prints it",
        },
    ),
    EventType(
        names.METRIC,
        "A metric at one moment.",
        value="the sample",
        labels={
            "metric": "the name as exposed",
            "area": "heap or nonheap, of a JVM's memory",
            "pool": "the JVM's memory pool",
            "consumergroup": "the consumer group, of kafka_exporter",
        },
        open_labels=True,
    ),
    EventType(
        names.PRODUCERS_COUNTED,
        "Producer ids that a broker holds for one partition, or in all.",
        value="how many",
        unit="producer ids",
        labels=PARTITION
        | {
            "broker": "the broker's id",
            "via": "describe_producers, snapshot, histogram, heap_dump, metric, dump_log or broker_log",
            "single": "ids that sent one batch only",
            "few": "ids that sent ten records at most",
            "transactional": "ids with a transaction",
            "oldest": "ISO time of the oldest last batch",
            "newest": "ISO time of the newest last batch",
            "arrivals": "ids by tenths of the time from the oldest to the count",
            "single_by_time": "ids that sent one batch, by when: bin width in ms, first bin since 1970, counts",
            "offset": "records in the partition so far",
            "pid": "the broker's process",
            "live": LIVE,
        },
    ),
    EventType(
        names.HEAP_CLASS,
        "The instances of one class on a Java heap.",
        value="their size",
        unit="bytes",
        labels=CLASS | {"instances": "how many", "live": LIVE},
    ),
    EventType(
        names.HEAP_HOLDERS,
        "Which objects hold the instances of a class in a heap dump, followed from samples to their roots.",
        value="samples that are held so",
        unit="samples",
        labels=CLASS | {"holder": "the fields on the way, the nearest first", "samples": "all samples"},
    ),
    EventType(
        names.HEAP_SIZE,
        "The size of a Java heap.",
        value="the size",
        unit="bytes",
        labels={"kind": "max, committed or used", "pid": "the process"},
    ),
    EventType(
        names.LOG_SIZE,
        "The size of a partition's log on one broker's disk.",
        value="the size",
        unit="bytes",
        labels=PARTITION | {"broker": "the broker's id", "dir": "the log directory"},
    ),
)
