"""What ends a leak of producer ids, and what frees the ids, by the brokers' version: each with its price."""

from leadsman.model import Cure

CURES = (
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
        since_version="3.4",
        why=(
            "Lower the expiry with kafka-configs, watch the count fall, put it back. A "
            "producer that is silent for longer than the expiry loses its protection against duplicates meanwhile."
        ),
        settings="producer.id.expiration.ms=600000",
    ),
    Cure(
        title="Brokers 2.4 to 3.3: a shorter expiry and a rolling restart, or a new topic",
        since_version="2.4",
        before_version="3.4",
        why=(
            "There the ids of all producers live as long as transactional ids do: with a shorter expiry, "
            "transactional producers that are idle for longer are refused. Deleting the topic frees the ids a "
            "minute later, and its records are lost."
        ),
        settings="transactional.id.expiration.ms=86400000",
    ),
    Cure(
        title="Brokers before 2.4: trim the topics",
        before_version="2.4",
        why=(
            "Records that are deleted (kafka-delete-records) take their producers' ids with them, and are lost: "
            "delete only below the offsets that all consumer groups have committed."
        ),
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
)
