"""What brokers and controllers log."""

from leadsman import vocabulary as names
from leadsman.event_types.connections import NODE, PARTITION
from leadsman.event_types.definition import EventType

LEADER = {"leader": "the leader's broker id"}
ISR = {"isr": "the in-sync replicas"}

EVENTS = (
    EventType(names.BROKER_STARTING, "A broker's process began to start.", labels=NODE),
    EventType(names.BROKER_STARTED, "A broker finished its start-up.", labels=NODE),
    EventType(
        names.BROKER_STOPPING, "A broker began to shut down.", labels=NODE | {"signal": "the signal that it received"}
    ),
    EventType(
        names.PRODUCER_ID_TAKEN,
        "A producer was assigned a producer id.",
        labels={"id": "the producer id", "epoch": "its epoch", "host": "the client's host"},
    ),
    EventType(names.BROKER_FENCED, "The controller fenced a broker: its heartbeats or session timed out.", labels=NODE),
    EventType(names.BROKER_UNFENCED, "The controller unfenced a broker.", labels=NODE),
    EventType(
        names.SESSION_EXPIRED,
        "ZooKeeper expired a session.",
        value="the session's timeout",
        unit="seconds",
        labels={"session": "the session's id"},
    ),
    EventType(names.LEADERS_MOVED, "The controller moved leaders.", value="how many partitions", unit="partitions"),
    EventType(
        names.PREFERRED_ELECTION,
        "Partitions are led by their preferred replica again.",
        value="how many partitions",
        unit="partitions",
    ),
    EventType(names.CONTROLLER_ELECTED, "A node became the active controller.", labels=NODE),
    EventType(
        names.CONTROLLER_SEEN,
        "An active controller wrote this log: it would have logged that it fenced a broker.",
        labels=NODE,
    ),
    EventType(
        names.WRITE_REFUSED,
        "A broker refused a write because fewer replicas than min.insync.replicas are in sync.",
        labels=PARTITION | {"wanted": "min.insync.replicas"},
    ),
    EventType(names.PARTITION_OFFLINE, "A controller left a partition without a leader.", labels=PARTITION),
    EventType(names.PARTITION_ONLINE, "A controller gave a partition without a leader one.", labels=PARTITION | LEADER),
    EventType(
        names.UNCLEAN_ELECTION,
        "A replica that was not in sync became leader: records can be lost.",
        labels=PARTITION,
    ),
    EventType(
        names.ISR_SHRUNK,
        "A replica fell behind and left the ISR.",
        labels=PARTITION | LEADER | ISR | {"before": "the in-sync replicas before"},
    ),
    EventType(
        names.ISR_UPDATED,
        "A partition's ISR changed.",
        labels=PARTITION | LEADER | ISR | {"min_isr": "`under` where the ISR is below min.insync.replicas"},
    ),
    EventType(
        names.LOG_DIR_FAILED,
        "A broker took a log directory offline after an error of its disk.",
        labels=NODE | {"dir": "the directory", "error": "the error", "shutdown": "whether the broker stops for it"},
    ),
)
