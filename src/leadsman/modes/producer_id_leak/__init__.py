"""Producer-ID leak: brokers keep the ids of all producers in memory until their heap is full."""

from datetime import timedelta

from leadsman.model import FailureMode, Harm, Layer, Link
from leadsman.modes.producer_id_leak.alternatives import ALTERNATIVES
from leadsman.modes.producer_id_leak.cures import CURES
from leadsman.modes.producer_id_leak.dashboard_panels import PANELS
from leadsman.vocabulary import (
    BROKER_STARTED,
    BROKER_STOPPING,
    CLIENT_STARTED,
    FILE_READ,
    GC_PAUSED,
    HEAP_CLASS,
    HEAP_HOLDERS,
    HEAP_SIZE,
    MEMORY_EXHAUSTED,
    METRIC,
    PRODUCER_ID_TAKEN,
    PRODUCERS_COUNTED,
    SETTING,
)

MODE = FailureMode(
    title="Producer-ID leak: broker heap fills with ids of closed producers",
    what_happens=(
        "A service creates a producer for each record or for a few. Brokers keep the id of every producer until "
        "their heap is full."
    ),
    harm=(Harm.RETAINED, Harm.STALLED, Harm.CRASHED),
    headline=(
        (
            "Producer-ID leak until {stopped_at:moment}: {oom_ids:count} ids, broker OutOfMemoryError",
            "Producer-ID leak: {oom_ids:count} ids, broker OutOfMemoryError",
            "Producer-ID leak: {leaking:count} ids, heap full in {time_to_full}",
            "Broker OutOfMemoryError, {suspected_ids:count} producer ids in its heap",
            "Producer-ID growth stopped {stopped_at:moment}: {remaining:count} remain",
            "Producer-ID leak: {level_leak_ids:count} ids, expiring as fast as created",
            "Producer-ID leak: {leaking:count} ids, +{per_day:count}/day",
            "Producer-ID leak: {leaking:count} ids, +{per_hour:count}/h",
            "Producer-ID growth: +{per_day:count}/day, cause unknown",
            "Producer-ID growth: +{per_hour:count}/h, cause unknown",
            "{recent_ids:count} new single-use producer ids: job or leak",
            "{ids:count} producer ids, growth not shown",
            "{entries:count} producer ids, growth not shown",
            "OutOfMemoryError on {oom_brokers}; producer ids not counted",
            "Heap in use rose to {heap_used_peak:bytes}; producer ids not counted",
        ),
    ),
    summary=(
        "Producer ids by topic: {by_topic}.",
        "Producer ids by broker, one for each id and partition: {by_broker}.",
        (
            "The count stopped growing between {stopped_at:moment} and {stopped_by:moment}; {remaining:count} ids "
            "remain.",
            "No new ids came after {stopped_at:moment}; {remaining:count} ids remain.",
            "{growing_broker} gets {per_day:count} more ids per day, which use {bytes_a_day:bytes} of heap.",
            "{growing_broker} gets {per_hour:count} more ids per hour, which use {bytes_an_hour:bytes} of heap.",
            "The number grows by {per_day:count} ids per day, which use {bytes_a_day:bytes} of heap.",
            "The number grows by {per_hour:count} ids per hour, which use {bytes_an_hour:bytes} of heap.",
        ),
        (
            "An OutOfMemoryError was logged on: {oom_brokers}.",
            "At this rate the fullest heap is full in {time_to_full_range}, unless ids are freed.",
        ),
        (
            "As many ids expire as come: brokers hold about {level_ids:count} at a time.",
            "As many ids expire as come: {fullest} keeps {level_leak_ids:count}, and the number does not grow.",
            (
                "Ids expire after {expiry:duration} ({expiry_setting}), so at this rate the ids in memory grow up to "
                "{plateau_bytes:bytes} of a heap of {limit:bytes}."
            ),
            (
                "The capture does not show the ids' expiry. With the default of {assumed:duration} the ids level off "
                "at {assumed_plateau:bytes} of a heap of {limit:bytes}; without expiry the heap would be full in "
                "{time_to_full_without_expiry}."
            ),
        ),
        "The logs show which clients took {ids_allocated:count id|ids}. The clients with most ids: {clients}.",
        "On Kafka {version} {frees}.",
    ),
    unknown=(
        (
            "Ids expire after {expiry:duration} ({expiry_setting}), so at this rate the ids in memory grow up to "
            "{plateau_bytes:bytes} of a heap of {limit:bytes}."
        ),
        "Producer ids by broker, one for each id and partition: {by_broker}.",
        "Producer ids by topic: {by_topic}.",
        "An OutOfMemoryError was logged on: {oom_brokers}.",
        "The heap in use rose to {heap_used_peak:bytes} of {limit:bytes}.",
        "In a heap dump the ids are referenced by {heap_holders}.",
        (
            (
                "The count stopped growing between {stopped_at:moment} and {stopped_by:moment}. The {remaining:count} "
                "remaining ids use memory until they expire."
            ),
            (
                "New ids stopped coming at {stopped_at:moment}. The {remaining:count} remaining ids use memory until "
                "they expire."
            ),
            (
                "{recent_ids:count} ids sent a single batch, all in the last {recent_span:duration}: a batch job, or "
                "a leak that has just begun."
            ),
            "{growing_broker} gets {per_day:count} more ids per day. The capture does not show what they sent.",
            (
                "{growing_broker} gets {undescribed_per_hour:count} more ids per hour. The capture does not show what "
                "they sent."
            ),
            "{undescribed_per_hour:count} more ids come per hour. The capture does not show what they sent.",
            "{per_hour:count} more ids come per hour.",
            "The count rose once, by {rose_once_by:moment}. The capture does not show whether new ids keep coming.",
            "The capture does not show whether the number of ids grows: {ids:count} were counted.",
            "The capture does not show whether the number of ids grows: {entries:count} were counted.",
            (
                "The capture does not count producer ids, so it does not show whether they filled the heap. Other "
                "data can fill a heap too."
            ),
        ),
    ),
    absent="On no topic does the number of single-use producer ids keep growing.",
    no_source=(
        "The capture holds no count of producer ids, no class histogram and no metrics, so a leak would not be "
        "visible: a broker's log counts ids only when the broker starts."
    ),
    no_source_next=(
        "Brokers before 2.8 cannot list their producer ids: collect each broker's JVM on its host (subcommand `collect "
        "jvm`), which stops the broker for about a second for each GB of heap. For brokers since 2.8: leadsman collect "
        "kafka --bootstrap HOST:9092 --out CAPTURE"
    ),
    next="leadsman remedy producer_id_leak --bootstrap HOST:9092",
    chain=(
        Link(
            id="one_shot",
            claim="A service creates producers for one or a few records, and never uses their ids again.",
            observed=(
                "{single_batch:count} of {described:count id|ids} sent a single batch.",
                "{records_per_new_id:count record was|records were} written for each new id.",
                "Brokers received {written_per_new_id:count record|records} for each new id.",
                (
                    (
                        "Connections to {main_entity}, over all its network processors, stayed at about "
                        "{connections:count} while {ids_beyond_connections:count} ids came, more than connected "
                        "producers can have."
                    ),
                    (
                        "Connections to all brokers stayed at about {connections:count} while "
                        "{ids_beyond_connections:count} ids came, more than connected producers can have."
                    ),
                ),
                "{ids_beyond_fleet:count} ids came over {span:duration}, more than a fleet of producers makes.",
                "At most {transactional:count id belongs|ids belong} to transactional producers.",
            ),
            contradicted=(
                (
                    "Connections grew with the ids, to {connections_grown:count}: the producers of the ids are "
                    "connected."
                ),
                (
                    "The ids belong to producers that send again and again, or that keep one id under a "
                    "transactional.id."
                ),
            ),
            not_visible=(
                (
                    (
                        "The capture shows what {described:count id|ids} sent: {reused_ids:count} of them sent more "
                        "than ten records. For the other ids, run DescribeProducers on more topics."
                    ),
                    (
                        "The capture shows what {described:count id|ids} sent, but not what the new ids sent. Run "
                        "DescribeProducers on more topics."
                    ),
                    (
                        "The capture does not show what these ids sent. DescribeProducers shows it, and so do the "
                        "snapshots in the brokers' data folders."
                    ),
                ),
            ),
            collect_command="leadsman collect kafka --bootstrap HOST:9092 --out CAPTURE",
        ),
        Link(
            id="growing",
            claim="New ids keep coming.",
            observed=(
                (
                    (
                        "By the times of their last batches, new ids came in {arrival_rises:count} of "
                        "{arrival_steps:count} periods, over {span:duration}."
                    ),
                    (
                        "The count rose in {rises:count} of {steps:count} steps between samples, over "
                        "{span:duration}; the last rise was seen by {came_until:moment}."
                    ),
                ),
                (
                    "The count stopped growing between {stopped_at:moment} and {stopped_by:moment}.",
                    "On average {per_day:count} ids came per day.",
                    "Typical rate: {per_hour:count} ids per hour.",
                ),
                "Counts by source, each at its own time: {counts_text}.",
            ),
            contradicted=(
                (
                    "The number of ids rose between {rose_since:moment} and {rose_until:moment}, and not after that.",
                    "Only {slow_per_hour:count id comes|ids come} per hour.",
                    "The number of ids did not grow in {counted_for:duration} of counts.",
                    "The counts show no growth.",
                ),
            ),
            not_visible=(
                (
                    "The count stopped growing between {stopped_at:moment} and {stopped_by:moment}.",
                    "New ids stopped coming at {stopped_at:moment}.",
                    (
                        "All single-use ids came in the last {recent_span:duration}, so the capture does not show "
                        "whether they keep coming. Collect three counts within an hour."
                    ),
                    (
                        "The count rose once, by {rose_once_by:moment}. Collect another count in an hour to see "
                        "whether new ids keep coming."
                    ),
                    (
                        "The counts, of up to {entries:count} ids on a broker, show no growth. Collect three counts "
                        "within an hour."
                    ),
                    "The counts, of {ids:count} ids, show no growth. Collect three counts within an hour.",
                    "The capture holds no count of the ids. Collect three counts within an hour.",
                ),
            ),
            collect_command="leadsman collect kafka --bootstrap HOST:9092 --repeat 20m --for 1h --out CAPTURE",
        ),
        Link(
            id="retained",
            claim="Brokers keep the ids in memory.",
            observed=(
                "{ids:count id was|ids were} counted on partitions.",
                ("{fullest} kept up to {peak_ids:count id|ids}.", "{fullest} keeps {broker_ids:count id|ids}."),
                (
                    "The time of the last batch is known of {described:count id|ids}: {idle_ids:count} sent it in the "
                    "older half of the time from the oldest to the newest batch, and the brokers still keep them."
                ),
                "Ids expire after {expiry:duration} ({expiry_setting}).",
            ),
            contradicted=("Brokers freed most of the ids.",),
            not_visible=("The capture does not count the ids that brokers keep.",),
            collect_command="leadsman collect kafka --bootstrap HOST:9092 --out CAPTURE",
        ),
        Link(
            id="heap",
            claim="A broker's heap is nearly full, or a broker had an OutOfMemoryError.",
            required=False,
            observed=(
                (
                    "{peak_ids:count} ids used about {id_heap_bytes:bytes} of heap on {fullest}, at 0.3 kB each.",
                    "{broker_ids:count} ids use about {id_heap_bytes:bytes} of heap on {fullest}, at 0.3 kB each.",
                ),
                "That is {heap_percent_text} of a heap of {limit:bytes}.",
                "In a heap dump the ids are referenced by {heap_holders}.",
                (
                    "Garbage collections stopped the brokers for {gc_seconds:duration} in all, with "
                    "{full_gcs:count full collection|full collections}."
                ),
                "An OutOfMemoryError was logged on: {oom_brokers}.",
                (
                    "The heap in use rose to {heap_used_peak:bytes} of {limit:bytes}; the capture does not show which "
                    "objects use it."
                ),
            ),
            contradicted=(
                (
                    (
                        "The harm has not happened yet: about {in_use:bytes} of {limit:bytes} are in use on {fullest}, "
                        "{id_heap_bytes:bytes} of them by ids. No OutOfMemoryError was logged."
                    ),
                    (
                        "The harm has not happened yet: ids use {id_heap_bytes:bytes}, {heap_percent_text} of a heap "
                        "of {limit:bytes}. No OutOfMemoryError was logged."
                    ),
                ),
            ),
            not_visible=(
                (
                    (
                        "Ids use {id_heap_bytes:bytes}, {heap_percent_text} of a heap of {limit:bytes}. The capture "
                        "does not show the rest of the heap in use, and no OutOfMemoryError."
                    ),
                    (
                        "About {in_use:bytes} are in use on {fullest}, {id_heap_bytes:bytes} of them by ids. The "
                        "capture does not show the size of the heap (-Xmx), and no OutOfMemoryError."
                    ),
                    (
                        "Ids use about {id_heap_bytes:bytes}, at 0.3 kB each. The capture does not show the size of a "
                        "heap (-Xmx), and no OutOfMemoryError."
                    ),
                    "The capture does not show a broker's heap.",
                ),
            ),
            collect_command="leadsman collect jvm PID --out CAPTURE",
        ),
    ),
    alternatives=ALTERNATIVES,
    cure=CURES,
    impact=(
        (
            "{fullest} kept up to {peak_ids:count} ids, {id_heap_bytes:bytes} of heap "
            "({heap_percent_text} of the whole heap).",
            "{fullest} kept up to {peak_ids:count} ids, {id_heap_bytes:bytes} of heap.",
            "{fullest} keeps {broker_ids:count} ids, {id_heap_bytes:bytes} of heap "
            "({heap_percent_text} of the whole heap).",
            "{fullest} keeps {broker_ids:count} ids, {id_heap_bytes:bytes} of heap.",
            "The {broker_ids:count} counted ids use about {id_heap_bytes:bytes} of heap on each replica.",
        ),
        (
            "A broker that ran out of memory loads the ids again when it restarts, so a restart does not help "
            "(OutOfMemoryError: {oom_brokers}).",
            "The heap is full in {time_to_full_range}; a broker that runs out of memory loads the ids again when it "
            "restarts.",
            "Not urgent: at this rate the ids level off at {calm_plateau_bytes:bytes} of a heap of {limit:bytes}, "
            "because they expire after {expiry:duration} ({expiry_setting}).",
        ),
    ),
    do_now=(
        (
            "The count stopped growing between {stopped_at:moment} and {stopped_by:moment}. Keep the change that was "
            "made then.",
            "Stop creating a producer for each record in these clients: {clients}. Create one producer for the life of "
            "the process. The capture does not show which clients took the other {unattributed_ids:count} of "
            "{leaking:count} ids.",
            "Stop creating a producer for each record in these clients: {clients}. Create one producer for the life of "
            "the process.",
            (
                "Find the service that creates a producer for each record, and let it create one producer for the life "
                "of the process. Ids by topic: {by_topic}."
            ),
            "Find the service that creates a producer for each record, and let it create one producer for the life of "
            "the process.",
        ),
        (
            "Free the remaining ids, {bytes_to_free:bytes} of a broker's heap: `leadsman remedy producer_id_leak "
            "--bootstrap HOST:9092` shows how to free them on the brokers' version, and changes nothing. Where "
            "brokers require TLS or SASL, add --command-config FILE."
        ),
    ),
    explains=(MEMORY_EXHAUSTED,),
    layer=Layer.CLUSTER,
    symptom_events=(MEMORY_EXHAUSTED, PRODUCERS_COUNTED),
    onset="growing",
    panels=PANELS,
    resolved_after=timedelta(days=1),  # brokers keep an id for a day after its last record (producer.id.expiration.ms)
    trigger_events=(HEAP_CLASS, MEMORY_EXHAUSTED, METRIC, PRODUCERS_COUNTED),
    read_events=(
        BROKER_STARTED,
        BROKER_STOPPING,
        CLIENT_STARTED,
        FILE_READ,
        GC_PAUSED,
        HEAP_CLASS,
        HEAP_HOLDERS,
        HEAP_SIZE,
        MEMORY_EXHAUSTED,
        METRIC,
        PRODUCER_ID_TAKEN,
        PRODUCERS_COUNTED,
        SETTING,
    ),
    story=(
        "Over weeks the heaps of a cluster's brokers grew, while every panel of its dashboard was green.",
        "In one weekend all brokers ran out of memory. A restart did not help: the heaps were full within minutes.",
        "A service created a new idempotent producer for each record, and the records were kept for years.",
        "Brokers kept the id of every producer whose records they stored, and loaded all ids again at each start.",
        "One producer for the life of the process ended the growth; trimming the topics freed the heaps.",
    ),
)
