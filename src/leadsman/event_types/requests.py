"""What clients log about their requests, records, offsets and groups."""

from leadsman import vocabulary as names
from leadsman.event_types.connections import NODE, PARTITION
from leadsman.event_types.definition import EventType

COORDINATOR = {"coordinator": "node id of the coordinator's connection", "address": "host and port"}
TASK = {"task": "the Kafka Streams task"}

EVENTS = (
    EventType(
        names.REQUEST_TIMED_OUT,
        "A request got no response within its timeout.",
        value="how long the request waited",
        unit="seconds",
        labels=NODE
        | {
            "api": "the Kafka request, such as PRODUCE",
            "error": "the error as the client names it",
            "count": "requests that timed out together",
            "in_flight": "requests in flight",
            "retry_queued": "requests that wait to be sent again",
            "out_queue": "requests that wait to be sent",
            "partly_sent": "requests that were partly sent",
        },
    ),
    EventType(
        names.PRODUCE_RETRIED,
        "A produce request failed and is sent again: the records are delayed, not lost.",
        labels=NODE
        | PARTITION
        | {"error": "the error as the client names it", "correlation": "the request's id", "attempts": "attempts left"},
    ),
    EventType(
        names.RECORD_FAILED,
        "The producer reported to the application that a record was not delivered.",
        value="how many records, or how long they waited",
        unit="records or seconds",
        labels=NODE | PARTITION | {"error": "the error as the client names it"},
    ),
    EventType(
        names.RECORD_EXPIRED,
        "A record waited in the producer longer than its timeout and was dropped.",
        value="how long the record waited",
        unit="seconds",
        labels=PARTITION | {"count": "records that expired together"},
    ),
    EventType(names.NOT_LEADER, "A broker answered that it does not lead the partition."),
    EventType(names.LEADER_NOT_AVAILABLE, "A partition had no leader when a client requested it.", labels=PARTITION),
    EventType(
        names.COORDINATOR_LOST,
        "A consumer lost the connection to its group's coordinator, or the coordinator moved.",
        value="how long the coordinator has been unknown",
        unit="seconds",
        labels=COORDINATOR | {"group": "", "error": "the error as the client names it"},
    ),
    EventType(names.COORDINATOR_FOUND, "A consumer learned which broker coordinates its group.", labels=COORDINATOR),
    EventType(
        names.COMMIT_FAILED,
        "A consumer could not commit its offsets.",
        labels=PARTITION | TASK | {"group": ""},
    ),
    EventType(
        names.COMMIT_TIMED_OUT,
        "An offset commit timed out.",
        value="the timeout of the commit",
        unit="seconds",
        labels=TASK | {"setting": "the setting that holds the timeout"},
    ),
    EventType(names.CONSUMER_JOINED, "A consumer became a member of its group.", labels={"generation": "the group's"}),
    EventType(
        names.CONSUMER_ENDED,
        "A consumer, or a thread of Kafka Streams, ended.",
        labels={"thread": "the thread's name", "how": "thread, all or closed"},
    ),
    EventType(
        names.POLL_INTERVAL_EXCEEDED,
        "A consumer did not poll within max.poll.interval.ms and left its group.",
    ),
    EventType(names.OFFSET_RESET, "A consumer took its position from auto.offset.reset.", labels=PARTITION),
    EventType(names.OFFSET_OUT_OF_RANGE, "A consumer's position was no longer in the log.", labels=PARTITION),
)
