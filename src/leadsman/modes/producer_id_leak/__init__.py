"""Brokers that keep the id of every producer there ever was, until they run out of memory."""

from leadsman.model import FailureMode, Harm, Layer, Link, Rival
from leadsman.modes.producer_id_leak.cures import CURES
from leadsman.modes.producer_id_leak.panels import PANELS
from leadsman.vocabulary import HEAP_CLASS, MEMORY_EXHAUSTED, METRIC, PRODUCER_IDS, PRODUCERS_COUNTED

MODE = FailureMode(
    title="Brokers fill up with the ids of producers that are gone",
    harm=(Harm.RETAINED, Harm.STALLED, Harm.CRASHED),
    headline=(
        (
            "Producer-ID leak until {stopped_at:moment}: {out_of_memory:count} ids, broker out of memory",
            "Producer-ID leak: {out_of_memory:count} ids, broker out of memory",
            "Producer-ID leak: {leaking:count} ids, heap full in {full_within}",
            "Broker out of memory, {suspected:count} producer ids on its heap",
            "Producer ids came until {stopped_at:moment}: {remaining:count} remain",
            "Producer-ID leak: {level_leak:count} ids, as many expire as come",
            "Producer-ID leak: {leaking:count} ids, +{per_day:count} a day",
            "Producer-ID leak: {leaking:count} ids, +{per_hour:count}/h",
            "Producer ids grow: {per_day:count} a day, cause unknown",
            "Producer ids grow: {per_hour:count} an hour, cause unknown",
            "{fresh:count} new single-use producer ids: a job or a leak",
            "{ids:count} producer ids, growth not shown",
            "{entries:count} producer ids, growth not shown",
            "Out of memory: {dead_brokers}; producer ids not counted",
            "Heap in use rose to {filled:bytes}, producer ids not counted",
        ),
    ),
    summary=(
        "Producer ids by topic: {by_topic}.",
        "Producer ids by broker, one for each id and partition: {by_broker}.",
        (
            "The count stopped growing between {stopped_at:moment} and {stopped_by:moment}; {remaining:count} remain.",
            "No new ones came after {stopped_at:moment}; {remaining:count} remain.",
            "{leader} gets {per_day:count} more each day, {bytes_a_day:bytes} of heap.",
            "{leader} gets {per_hour:count} more each hour, {bytes_an_hour:bytes} of heap.",
            "On what was counted, {per_day:count} more come each day, {bytes_a_day:bytes} of heap.",
            "On what was counted, {per_hour:count} more come each hour, {bytes_an_hour:bytes} of heap.",
        ),
        "At this rate the fullest heap is full in {full_between}, unless something frees them.",
        (
            "As many expire as come: about {level_ids:count} are held at a time.",
            "As many expire as come: {fullest} holds {level_leak:count}, and no more.",
            (
                "They expire after {expiry:duration} ({expires_by}), so at this rate they level off at "
                "{plateau_bytes:bytes} of a heap of {limit:bytes}."
            ),
            (
                "No setting of their expiry was read. If they expire after {assumed:duration}, a default, they level "
                "off at {assumed_plateau:bytes} of a heap of {limit:bytes}; if they never did, the heap would be full "
                "in {kept_full_between}."
            ),
        ),
        "Out of memory: {dead_brokers}.",
        "Of the {taken:count id|ids} whose taking is in these logs, most went to {clients}.",
        "On Kafka {version} {frees}.",
    ),
    unsettled=(
        (
            "They expire after {expiry:duration} ({expires_by}), so at this rate they level off at "
            "{plateau_bytes:bytes} of a heap of {limit:bytes}."
        ),
        "Producer ids by broker, one for each id and partition: {by_broker}.",
        "Producer ids by topic: {by_topic}.",
        "Out of memory: {dead_brokers}.",
        "The heap in use rose to {filled:bytes} of {limit:bytes}.",
        "A heap dump shows who holds them: {held_by}.",
        (
            (
                "The count stopped growing between {stopped_at:moment} and {stopped_by:moment}. The {remaining:count} "
                "that remain take memory until they expire."
            ),
            (
                "New ids stopped coming at {stopped_at:moment}. The {remaining:count} that remain take memory "
                "until they expire."
            ),
            (
                "{fresh:count} ids sent a single batch, all in the last {fresh_span:duration}: a batch job, or a leak "
                "that has just begun."
            ),
            "{leader} gets {per_day:count} more each day. This capture does not show what these sent.",
            "{leader} gets {unsent:count} more each hour. This capture does not show what these sent.",
            "{unsent:count} more come each hour. This capture does not show what these sent.",
            "{per_hour:count} more come each hour.",
            "Whether the {ids:count id|ids} become more is not known: nothing here shows that they grow.",
            "Whether the {entries:count id|ids} become more is not known: nothing here shows that they grow.",
            "Nothing in this capture counts producer ids, so whether they filled the heap cannot be known.",
        ),
    ),
    absent="No topic's producer ids keep growing by ids that send once.",
    blind=(
        "Nothing in this capture shows what brokers hold: no count of producer ids, no class histogram, no metrics, no "
        "broker log."
    ),
    next="leadsman remedy producer_id_leak --bootstrap HOST:9092",
    chain=(
        Link(
            id="one_shot",
            claim="Producers are made for one record or few, and their ids are not used again.",
            observed=(
                "{single:count} of {described:count id|ids} sent a single batch.",
                "{records_an_id:count record was|records were} written for each new id.",
                "Brokers took {written_an_id:count record|records} for each new id.",
                (
                    (
                        "Connections to {speaker}, of all its processors, stayed at about {connections:count} while "
                        "{beside:count} ids came, more than producers that are connected can have."
                    ),
                    (
                        "Connections to all brokers stayed at about {connections:count} while {beside:count} ids came, "
                        "more than producers that are connected can have."
                    ),
                ),
                "{beyond:count} ids came over {span:duration}, more than a fleet of producers makes.",
                "No more than {transactional:count is|are} of transactional producers.",
            ),
            contradicted=(
                "Connections grew in step with the ids, to {connections_grown:count}: their producers are connected.",
                (
                    "The ids belong to producers that send again and again, or that keep one id under a "
                    "transactional name."
                ),
            ),
            not_visible=(
                (
                    (
                        "Of {described:count id|ids} it was read what they sent: {sent_often:count} sent more than ten "
                        "records. Of the others nothing shows it. DescribeProducers of more topics does."
                    ),
                    (
                        "Of {described:count id|ids} it was read what they sent; of those that came, it was not. "
                        "DescribeProducers of more topics shows it."
                    ),
                    (
                        "Nothing shows what these ids sent. DescribeProducers does, and so do the snapshots in the "
                        "brokers' data folders."
                    ),
                ),
            ),
            settled_by="leadsman collect kafka --bootstrap HOST:9092 --out CAPTURE",
        ),
        Link(
            id="growing",
            claim="New ids keep coming.",
            observed=(
                (
                    (
                        "By the times of their last batches, new ids came in {own_rises:count} of {own_steps:count} "
                        "periods, over {span:duration}."
                    ),
                    (
                        "The count rose in {rises:count} of {steps:count} steps from sample to sample, over "
                        "{span:duration}; the last rise was seen by {came_until:moment}."
                    ),
                ),
                (
                    "It stopped growing between {stopped_at:moment} and {stopped_by:moment}.",
                    "On average {per_day:count} came each day.",
                    "Typical rate: {per_hour:count} an hour.",
                ),
                "Counted in several ways, each at its own time: {agreed}.",
            ),
            contradicted=("They came at one time, and have not become more since.",),
            not_visible=(
                (
                    "The count stopped growing between {stopped_at:moment} and {stopped_by:moment}.",
                    "New ids stopped coming at {stopped_at:moment}.",
                    (
                        "All single-use ids came in the last {fresh_span:duration}: whether they go on coming is not "
                        "known. Count again after an hour: three counts settle it."
                    ),
                    (
                        "The counts, of up to {entries:count} ids on a broker, show no growth. Count again after an "
                        "hour: three counts settle it."
                    ),
                    (
                        "The counts, of {ids:count} ids, show no growth. Count again after an hour: three counts "
                        "settle it."
                    ),
                    "Nothing counts the ids. Three counts within an hour settle it.",
                ),
            ),
            settled_by="leadsman collect kafka --bootstrap HOST:9092 --repeat 20m --for 1h --out CAPTURE",
        ),
        Link(
            id="retained",
            claim="Brokers keep the ids in memory.",
            observed=(
                "{ids:count id was|ids were} counted on partitions.",
                ("{fullest} held up to {peak_ids:count id|ids}.", "{fullest} holds {held_ids:count id|ids}."),
                (
                    "Of {described:count id|ids} whose last batch is known, {idle:count} sent theirs in the older half "
                    "of the time that they cover."
                ),
                "They expire after {expiry:duration} ({expires_by}).",
            ),
            contradicted=("Most of the ids were freed again.",),
            not_visible=("Nothing counts the ids that brokers hold.",),
            settled_by="leadsman collect kafka --bootstrap HOST:9092 --out CAPTURE",
        ),
        Link(
            id="heap",
            claim="A broker's heap is nearly full, or a broker ran out of memory.",
            required=False,
            observed=(
                (
                    "{peak_ids:count} ids took about {held_bytes:bytes} of heap on {fullest}, at 0.3 kB each.",
                    "{held_ids:count} ids take about {held_bytes:bytes} of heap on {fullest}, at 0.3 kB each.",
                ),
                "That is {percent} of a heap of {limit:bytes}.",
                "A heap dump shows who holds them: {held_by}.",
                (
                    "The brokers' Java stopped for {gc_seconds:duration} to collect garbage, {fulls:count "
                    "time|times} all of it."
                ),
                "An OutOfMemoryError was read of: {dead_brokers}.",
                "The heap in use rose to {filled:bytes} of {limit:bytes}; with what, nothing in this capture shows.",
            ),
            contradicted=(
                (
                    (
                        "Not yet: about {in_use:bytes} of {limit:bytes} are in use on {fullest}, {held_bytes:bytes} of "
                        "them by ids. No OutOfMemoryError was read."
                    ),
                    (
                        "Not yet: ids take {held_bytes:bytes}, {percent} of a heap of {limit:bytes}. No "
                        "OutOfMemoryError was read."
                    ),
                ),
            ),
            not_visible=(
                (
                    (
                        "Ids take {held_bytes:bytes}, {percent} of a heap of {limit:bytes}. What else is in use "
                        "is not shown, and no OutOfMemoryError was read."
                    ),
                    (
                        "About {in_use:bytes} are in use on {fullest}, {held_bytes:bytes} of them by ids. Nothing in "
                        "this capture shows how large its heap is; no OutOfMemoryError was read."
                    ),
                    (
                        "Ids take about {held_bytes:bytes}, at 0.3 kB each. Nothing in this capture shows how large a "
                        "heap is; no OutOfMemoryError was read."
                    ),
                    "Nothing in this capture shows a broker's heap.",
                ),
            ),
            settled_by="leadsman collect jvm PID --out CAPTURE",
        ),
    ),
    rivals=(
        Rival(
            id="fleet",
            cause="A large but stable fleet of producers",
            ruled_out=(
                (
                    "{single:count} of {described:count id|ids} sent a single batch and never again.",
                    "{records_an_id:count record was|records were} written for each new id.",
                    "{written_an_id:count record was|records were} written for each new id.",
                    "Connections stayed at about {connections:count} while {beside:count} ids came.",
                    "{beyond:count} ids came over {span:duration}, more than a fleet of producers makes.",
                ),
            ),
            stands="The ids belong to producers that go on sending.",
            not_visible=(
                (
                    "What the {described:count} described ids sent says nothing of the others.",
                    "Nothing shows what the ids sent. DescribeProducers would.",
                ),
            ),
        ),
        Rival(
            id="burst",
            cause="A burst that is over: a deployment, a batch job",
            ruled_out=(
                (
                    "New ids came for {span:duration}, until {stopped_at:moment}.",
                    "New ids came in {own_rises:count} of {own_steps:count} periods, over {span:duration}.",
                    "The count rose in {rises:count} steps, over {span:duration}.",
                ),
            ),
            stands="They came at one time, and no more have come since: they will expire.",
            not_visible=(
                (
                    "The count rose in {rises:count} steps: as many deployments or jobs would do the same.",
                    "Nothing shows whether new ids still come. A count an hour later would.",
                ),
            ),
        ),
        Rival(
            id="transactional",
            cause="Transactional producers",
            ruled_out=(
                (
                    "{transactional:count} of {described:count id has|ids have} a transaction coordinator.",
                    "None of {described:count id has|ids has} a transaction coordinator.",
                ),
            ),
            stands="Most ids are of transactional producers, which keep theirs.",
            not_visible="Nothing shows which ids are transactional. DescribeProducers and snapshots would.",
        ),
        Rival(
            id="heap_eater",
            cause="Something else fills the heap",
            ruled_out=(
                (
                    "{peak_ids:count} ids took {held_bytes:bytes} of a heap of {limit:bytes}.",
                    "No more than {in_use:bytes} of {limit:bytes} are in use on {fullest}, {held_bytes:bytes} by ids.",
                    "{live:bytes} of {limit:bytes} are left in use after a collection, {held_bytes:bytes} by ids.",
                    "Ids take {held_bytes:bytes} of a heap of {limit:bytes}.",
                ),
            ),
            stands="{live:bytes} of {limit:bytes} are in use, and producer ids take {held_bytes:bytes} of them.",
            not_visible=(
                (
                    "{live:bytes} of {limit:bytes} are in use, {held_bytes:bytes} of them by ids.",
                    (
                        "{live:bytes} are in use, {held_bytes:bytes} of them by ids. The heap's limit (-Xmx) is not "
                        "in the capture."
                    ),
                    (
                        "For {fullest} the capture does not show what is in use after a collection. A class histogram "
                        "and the heap's limit (-Xmx) would."
                    ),
                    (
                        "The capture does not show what is in use after a collection. A class histogram and the heap's "
                        "limit (-Xmx) would."
                    ),
                ),
            ),
        ),
    ),
    cure=CURES,
    impact=(
        (
            "{fullest} held up to {peak_ids:count} ids, {held_bytes:bytes} of heap ({percent}).",
            "{fullest} held up to {peak_ids:count} ids, {held_bytes:bytes} of heap.",
            "{fullest} holds {held_ids:count} ids, {held_bytes:bytes} of heap ({percent}).",
            "{fullest} holds {held_ids:count} ids, {held_bytes:bytes} of heap.",
            "The {held_ids:count} ids that were counted take about {held_bytes:bytes} of heap in each set of replicas.",
        ),
        "The heap is full in {full_between}; a broker that runs out of memory loads the ids again when it restarts.",
    ),
    do_now=(
        (
            "The count stopped growing between {stopped_at:moment} and {stopped_by:moment}. Keep what changed then.",
            "Stop making a producer for each record: {clients} took most ids. Make one for the life of the process.",
            (
                "Find who writes with a new producer for each record, and make one for the life of the process. "
                "Ids by topic: {by_topic}."
            ),
            "Find who makes a producer for each record, and make one for the life of the process.",
        ),
        (
            "Free the ids that are left, {to_free:bytes} of a broker's heap: `leadsman remedy "
            "producer_id_leak --bootstrap HOST:9092` shows how these brokers' version does, and changes nothing. "
            "Where brokers ask for TLS or SASL, add --command-config FILE."
        ),
    ),
    explains=(MEMORY_EXHAUSTED,),
    layer=Layer.CLUSTER,
    symptom_sources=(
        PRODUCER_IDS,
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
    signs=(HEAP_CLASS, MEMORY_EXHAUSTED, METRIC, PRODUCER_IDS, PRODUCERS_COUNTED),
    story=(
        "Over weeks the heaps of a cluster's brokers grew, with every panel of its dashboard green.",
        "In one weekend all of them ran out of memory. A restart did not help: they were full again within minutes.",
        "A service made a new idempotent producer for each record, and the data was kept for years.",
        "Brokers kept the id of every producer whose records they held, and read them all back at each start.",
        "One producer for the life of the process ended the growth; trimming the topics freed the heaps.",
    ),
)
