"""Brokers that keep the id of every producer there ever was, until they run out of memory."""

from leadsman.model import Cure, FailureMode, Harm, Layer, Link, Rival
from leadsman.modes.producer_id_leak.panels import PANELS
from leadsman.vocabulary import HEAP_CLASS, MEMORY_EXHAUSTED, METRIC, PRODUCERS_COUNTED

MODE = FailureMode(
    title="Brokers fill up with the ids of producers that are gone",
    harm=(Harm.RETAINED, Harm.STALLED, Harm.CRASHED),
    summary=(
        "Brokers hold {ids:count producer id|producer ids} of {topics:count topic|topics}: {by_topic}.",
        "{per_hour:count} more come each hour, {bytes_an_hour:bytes} of heap.",
        (
            (
                "At this rate the fullest heap is full in {until_full_low:duration} to {until_full_high:duration}, "
                "unless something frees them."
            ),
            "They expire after {expiry:duration}, so at this rate they level off at {plateau_bytes:bytes}.",
        ),
        "A broker has run out of memory ({exhausted:count line|lines}).",
        "Of the {taken:count id|ids} whose taking is in these logs, most went to {clients}.",
        "On Kafka {version} {frees}.",
    ),
    unsettled=(
        "A broker's heap holds {entries:count producer id|producer ids}.",
        "Brokers hold {ids:count producer id|producer ids} ({by_topic}).",
        "A broker ran out of memory ({exhausted:count line|lines}).",
        "A heap dump shows who holds them: {held_by}.",
        (
            "{ids:count id|ids} at one moment may be all there will ever be: nothing here shows that they grow.",
            "This capture does not show whose ids they are, what they sent, or whether their number grows.",
        ),
    ),
    absent="No topic's producer ids keep growing by ids that send once.",
    blind=(
        "Nothing in this capture tells what brokers hold: no count of producer ids, no class histogram, no metrics, no "
        "broker log."
    ),
    next="leadsman remedy producer_id_leak --bootstrap HOST:9092",
    chain=(
        Link(
            id="one_shot",
            claim="Producers are made for one record or few, and are never heard of again.",
            observed=(
                "{single:count} of {ids:count id|ids} sent a single batch.",
                "{records_an_id:count record was|records were} written for each new id.",
                "No more than {transactional:count is|are} of transactional producers.",
            ),
            contradicted=(
                (
                    "The ids belong to producers that send again and again, or that keep one id under a "
                    "transactional name."
                ),
            ),
            not_visible=(
                "Nothing says what these ids sent. DescribeProducers does, and so do the snapshots in the "
                "brokers' data "
                "folders.",
            ),
            settled_by="leadsman collect kafka --bootstrap HOST:9092 --out CAPTURE",
        ),
        Link(
            id="growing",
            claim="Their number grows without bound.",
            observed=(
                "The ids came all the time: {tenths:count} of 10 parts of the {span:duration} since the oldest "
                "one brought "
                "some.",
                "{grown:count more was|more were} there at the last count than at the first.",
                "That makes {per_hour:count} an hour.",
                "Counted in several ways, each at its own time: {agreed}.",
            ),
            contradicted=("They came at one time, and have not become more since.",),
            not_visible=("One count says little of growth. Count again after an hour: three counts settle it.",),
            settled_by="leadsman collect kafka --bootstrap HOST:9092 --repeat 20m --for 1h --out CAPTURE",
        ),
        Link(
            id="retained",
            claim="Brokers keep every id, although its producer is gone.",
            observed=(
                (
                    "{idle:count id has|ids have} been silent for more than half of that time and {idle:count "
                    "is|are} still held."
                ),
                "They expire after {expiry:duration}.",
            ),
            contradicted=("Most of the ids were freed again.",),
            not_visible=("Nothing says how old the ids are that are still held.",),
            settled_by="leadsman collect kafka --bootstrap HOST:9092 --out CAPTURE",
        ),
        Link(
            id="heap",
            claim="The brokers' heap fills with them: long collections first, then out of memory.",
            observed=(
                "Each takes about 0.3 kB of heap in each replica: {held_bytes:bytes} on the fullest broker.",
                "That is {share:count} % of its heap of {limit:bytes}.",
                "A heap dump shows who holds them: {held_by}.",
                (
                    "The brokers' Java stopped for {gc_seconds:duration} to collect garbage, {fulls:count "
                    "time|times} all of it."
                ),
                "{exhausted:count line says|lines say} that it ran out of memory.",
            ),
            contradicted=("The heap holds few of them.",),
            not_visible=("No histogram, metric or log of a broker's heap is in this capture.",),
            settled_by="leadsman collect jvm PID --out CAPTURE",
        ),
    ),
    rivals=(
        Rival(
            id="fleet",
            cause="A large but stable fleet of producers",
            ruled_out=("The ids do not send again.", "{single:count} of {ids:count} sent a single batch."),
            stands="The ids belong to producers that go on sending.",
            not_visible="Not ruled out: nothing says what the ids sent.",
        ),
        Rival(
            id="burst",
            cause="A burst that is over: a deployment, a batch job",
            ruled_out=("Ids kept coming over the whole time.",),
            stands="They came at one time, and no more have come since: they will expire.",
            not_visible="Not ruled out: the counts do not show when the ids came.",
        ),
        Rival(
            id="transactional",
            cause="Transactional producers",
            ruled_out=(
                "{ids:count id has|ids have} no transaction coordinator.",
                "The ids have no transaction coordinator.",
            ),
            stands="Most ids are of transactional producers, which keep theirs.",
            not_visible="Not ruled out: nothing says which ids are transactional.",
        ),
        Rival(
            id="heap_eater",
            cause="Something else fills the heap",
            ruled_out=("No heap is full of anything else.",),
            stands="The heap is nearly full, and producer ids are less than a tenth of what lives on it.",
            not_visible="Not ruled out: no measure of the whole heap is in the capture.",
        ),
    ),
    cure=(
        Cure(
            title="One producer for the life of the process",
            why=(
                "Make it once and share it between threads. This ends the growth; it frees nothing, because "
                "brokers do not "
                "know that the others are gone."
            ),
        ),
        Cure(
            title="Let brokers 3.4 and newer forget sooner, without a restart",
            why=(
                "Lower the expiry with kafka-configs, watch the count fall, put it back. A "
                "producer that is silent for longer than the expiry loses its protection against duplicates meanwhile."
            ),
            settings="producer.id.expiration.ms=600000",
        ),
        Cure(
            title="Brokers 2.4 to 3.3: a shorter expiry and a rolling restart, or a new topic",
            why=(
                "There the ids of all producers live as long as transactional ids do. Deleting the topic frees "
                "them a minute later."
            ),
            settings="transactional.id.expiration.ms=86400000",
        ),
        Cure(
            title="Brokers before 2.4: trim the topics",
            why="Records that are deleted (kafka-delete-records) take their producers' ids with them.",
        ),
        Cure(
            title="Watch what fills up",
            why=(
                "Alert on the number of producer ids, on the heap after collection and on the number of topics "
                "and partitions; "
                "have brokers dump their heap when it is full."
            ),
            settings="# KAFKA_OPTS\n-XX:+HeapDumpOnOutOfMemoryError -XX:HeapDumpPath=/var/lib/kafka",
        ),
    ),
    explains=(MEMORY_EXHAUSTED,),
    layer=Layer.CLUSTER,
    symptom_sources=(
        "broker",
        "class_histogram",
        "heap_dump",
        "jvm_log",
        "kafka_dump_log",
        "kafka_producers",
        "prometheus_range",
        "prometheus_text",
        "snapshot",
    ),
    onset="growing",
    panels=PANELS,
    signs=(HEAP_CLASS, MEMORY_EXHAUSTED, METRIC, PRODUCERS_COUNTED),
    story=(
        "Over weeks the heaps of a cluster's brokers grew, with every panel of its dashboard green.",
        "In one weekend all of them ran out of memory. A restart did not help: they were full again within minutes.",
        "A service made a new idempotent producer for each record, and the data was kept for years.",
        "Brokers kept the id of every producer whose records they held, and read them all back at each start.",
        "One producer for the life of the process ended the growth; trimming the topics freed the heaps.",
    ),
)
