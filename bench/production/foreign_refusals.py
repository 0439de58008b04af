"""What Kafka clients log when brokers refuse what they ask: ACLs, quotas, fencing, offsets, a full disk, size."""

from __future__ import annotations

from bench.production.foreign_wordings import (
    ERRORS,
    JAVA,
    KAFKA_PYTHON,
    PARTITION,
    PRODUCER,
    RAW,
    RDKAFKA,
    SARAMA,
    SENDER,
    WRITER,
    Words,
    java_failed,
    librdkafka_failed,
    python_failed,
)

CONSUMER = "[Consumer clientId=consumer-ledger-1, groupId=ledger] "
MAIN_THREAD = "|rdkafka#producer-1| [thrd:main]: "

ACL: dict[str, Words] = {
    JAVA: (
        (
            "ERROR",
            "org.apache.kafka.clients.Metadata",
            f"{PRODUCER}Topic authorization failed for topics [ledger.audit]",
        ),
        java_failed("TopicAuthorizationException: Not authorized to access topics: [ledger.audit]"),
    ),
    RDKAFKA: (librdkafka_failed('code=TOPIC_AUTHORIZATION_FAILED,val=29,str="Broker: Topic authorization failed"'),),
    KAFKA_PYTHON: (
        python_failed("TopicAuthorizationFailedError: [Error 29] TopicAuthorizationFailedError: ledger.audit"),
    ),
    SARAMA: (
        (
            "ERROR",
            "ledger",
            (
                "kafka: Failed to produce message to topic ledger.audit: kafka server: The client is not authorized to "
                "access this topic"
            ),
        ),
    ),
}

QUOTA: dict[str, Words] = {
    JAVA: (("WARN", WRITER, "writing entry {entry} took {late} ms, produce-throttle-time-max is {late}"),),
    RDKAFKA: (("WARNING", "ledger", "broker {host}:9092/{node} throttled us for {late} ms"),),
    KAFKA_PYTHON: (("WARNING", "ledger", "writing entry {entry} took {late} ms, throttled by quota of its user"),),
}

_FENCED = "There is a newer producer with the same transactionalId which fences the current one."
_TX = "[Producer clientId=producer-ledger-tx-1, transactionalId=ledger-tx-1] "

FENCING: dict[str, Words] = {
    JAVA: (
        (
            "INFO",
            "o.a.k.c.p.i.TransactionManager",
            f"{_TX}Transiting to fatal error state due to {ERRORS}ProducerFencedException: {_FENCED}",
        ),
        (
            "ERROR",
            SENDER,
            f"{_TX}Aborting producer batches due to fatal error\n{ERRORS}ProducerFencedException: {_FENCED}",
        ),
        java_failed(f"ProducerFencedException: {_FENCED}"),
    ),
    RDKAFKA: (
        (
            RAW,
            "1|TXNERR",
            (
                f"{MAIN_THREAD}Fatal transaction error: Failed to end transaction: "
                "Local: This instance has been fenced by a newer instance (_FENCED)"
            ),
        ),
        librdkafka_failed('code=_FENCED,val=-144,str="Local: This instance has been fenced by a newer instance"'),
    ),
    KAFKA_PYTHON: (python_failed(f"ProducerFencedError: [Error 90] ProducerFencedError: {_FENCED}"),),
}

OLD_EPOCH: dict[str, Words] = {
    JAVA: (
        java_failed("InvalidProducerEpochException: Producer attempted to produce with an old epoch."),
        ("INFO", "o.a.k.c.p.i.TransactionManager", f"{_TX}ProducerId set to {{offset}} with epoch {{node}}"),
    ),
}

_AT_LEADER = "currentLeader=LeaderAndEpoch{{leader=Optional[{host}:9092 (id: {node} rack: null)], epoch=14}}}}"

OFFSETS: dict[str, Words] = {
    JAVA: (
        (
            "INFO",
            "o.a.k.c.c.internals.FetchCollector",
            (
                f"{CONSUMER}Fetch position FetchPosition{{{{offset={{entry}}, offsetEpoch=Optional.empty, "
                f"{_AT_LEADER} is out of range "
                "for partition {topic}-{partition}, resetting offset"
            ),
        ),
        (
            "INFO",
            "o.a.k.c.c.internals.SubscriptionState",
            (
                f"{CONSUMER}Resetting offset for partition {{topic}}-{{partition}} to position "
                f"FetchPosition{{{{offset={{offset}}, "
                f"offsetEpoch=Optional.empty, {_AT_LEADER}."
            ),
        ),
    ),
    RDKAFKA: (
        (
            RAW,
            "4|OFFSET",
            (
                "|ledger#consumer-1| [thrd:main]: {topic} [{partition}]: offset reset (at offset {entry} "
                "(leader epoch 14), "
                "broker {node}) to offset BEGINNING (leader epoch -1): fetch failed due to requested "
                "offset not available "
                "on the broker: Broker: Offset out of range"
            ),
        ),
    ),
    KAFKA_PYTHON: (
        ("INFO", "kafka.consumer.fetcher", f"Fetch offset {{entry}} is out of range for topic-partition {PARTITION}"),
        ("INFO", "kafka.consumer.fetcher", f"Resetting offset for partition {PARTITION} to offset {{offset}}."),
    ),
}

DISK: dict[str, Words] = {
    JAVA: (
        (
            "WARN",
            SENDER,
            (
                f"{PRODUCER}Got error produce response with correlation id {{correlation}} on topic-partition "
                "{topic}-{partition}, retrying (2147483646 attempts left). Error: KAFKA_STORAGE_ERROR"
            ),
        ),
        (
            "WARN",
            SENDER,
            (
                f"{PRODUCER}Received invalid metadata error in produce request on partition "
                f"{{topic}}-{{partition}} due to "
                f"{ERRORS}KafkaStorageException: Disk error when trying to access log file on the disk.. "
                "Going to request metadata update now"
            ),
        ),
    ),
    RDKAFKA: (
        librdkafka_failed(
            'code=KAFKA_STORAGE_ERROR,val=56,str="Broker: Disk error when trying to access log file on disk"'
        ),
    ),
    KAFKA_PYTHON: (
        (
            "WARNING",
            "kafka.producer.sender",
            (
                f"Got error produce response on topic-partition {PARTITION}, retrying (2 attempts left). "
                "Error: <class 'kafka.errors.KafkaStorageError'>"
            ),
        ),
    ),
}

TOO_LARGE: dict[str, Words] = {
    JAVA: (
        java_failed(
            "RecordTooLargeException: The message is {large} bytes when serialized which is larger "
            "than 1048576, which is "
            "the value of the max.request.size configuration."
        ),
    ),
    RDKAFKA: (librdkafka_failed('code=MSG_SIZE_TOO_LARGE,val=10,str="Broker: Message size too large"'),),
    KAFKA_PYTHON: (
        python_failed(
            "MessageSizeTooLargeError: [Error 10] MessageSizeTooLargeError: The message is {large} "
            "bytes when serialized "
            "which is larger than the maximum request size you have configured with the max_request_size configuration"
        ),
    ),
}
