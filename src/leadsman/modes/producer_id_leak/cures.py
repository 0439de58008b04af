"""Cures of a producer-id leak: what ends the leak, and what frees the ids, by the brokers' version."""

from leadsman.model import Cure

CURES = (
    Cure(
        title="One producer for the life of the process",
        why=(
            "Create the producer once and share it between threads. This ends the growth. It frees no ids, because "
            "brokers do not know that the other producers are closed."
        ),
    ),
    Cure(
        title="Brokers 3.4 and newer: lower the expiry of ids, without a restart",
        since_version="3.4",
        why=(
            "Lower the expiry with kafka-configs, watch the count fall, and restore the expiry. Meanwhile a producer "
            "that is idle for longer than the expiry loses its protection against duplicates."
        ),
        settings="producer.id.expiration.ms=600000",
    ),
    Cure(
        title="Brokers 2.4 to 3.3: a shorter expiry and a rolling restart, or a new topic",
        since_version="2.4",
        before_version="3.4",
        why=(
            "In these versions transactional.id.expiration.ms expires the ids of all producers. With a shorter expiry, "
            "brokers reject transactional producers that are idle for longer. Deleting the topic frees the ids one "
            "minute later (file.delete.delay.ms), but the records are lost."
        ),
        settings="transactional.id.expiration.ms=86400000",
    ),
    Cure(
        title="Brokers before 2.4: trim the topics",
        before_version="2.4",
        why=(
            "Deleting records (kafka-delete-records) frees their producers' ids, and the records are lost. Delete only "
            "below the offsets that all consumer groups have committed."
        ),
    ),
    Cure(
        title="Monitor the number of ids and the heap",
        why=(
            "Alert on the number of producer ids, on the heap after garbage collection, and on the number of topics "
            "and partitions. Let brokers write a heap dump on OutOfMemoryError."
        ),
        settings='export KAFKA_OPTS="-XX:+HeapDumpOnOutOfMemoryError -XX:HeapDumpPath=/var/lib/kafka"',
    ),
)
