"""All built-in event names. What each event carries is declared in `event_types/`; parsers emit no other events."""

from __future__ import annotations

# What a client says about its connections.
CONNECTION_LOST = "connection.lost"
CONNECTION_RESET = "connection.reset"
CONNECTION_CLOSED = "connection.closed"
CONNECTION_REFUSED = "connection.refused"
CONNECTION_SETUP_TIMED_OUT = "connection.setup_timed_out"
CONNECTION_FAILED = "connection.failed"
BOOTSTRAP_FAILED = "bootstrap.failed"
NAME_UNRESOLVED = "name.unresolved"
AUTHENTICATION_FAILED = "authentication.failed"
AUTHORIZATION_FAILED = "authorization.failed"
CLIENT_THROTTLED = "client.throttled"
PRODUCER_FENCED = "producer.fenced"
CERTIFICATE_REJECTED = "certificate.rejected"
TLS_FAILED = "tls.failed"

# What became of its requests and records.
REQUEST_TIMED_OUT = "request.timed_out"
PRODUCE_RETRIED = "produce.retried"
RECORD_FAILED = "record.failed"
RECORD_EXPIRED = "record.expired"
NOT_LEADER = "partition.not_leader"
LEADER_NOT_AVAILABLE = "partition.leader_not_available"
COORDINATOR_LOST = "coordinator.lost"
COORDINATOR_FOUND = "coordinator.found"
COMMIT_FAILED = "commit.failed"
COMMIT_TIMED_OUT = "commit.timed_out"
CONSUMER_JOINED = "consumer.joined"
CONSUMER_ENDED = "consumer.ended"
POLL_INTERVAL_EXCEEDED = "poll_interval.exceeded"
OFFSET_RESET = "offset.reset"
OFFSET_OUT_OF_RANGE = "offset.out_of_range"

# What the client's process says about itself.
CLIENT_STARTED = "client.started"
WORKER_STARTED = "worker.started"
INVOCATION_STARTED = "invocation.started"
INVOCATION_ENDED = "invocation.ended"
INVOCATION_TIMED_OUT = "invocation.timed_out"

# What brokers say.
BROKER_STARTING = "broker.starting"
BROKER_STARTED = "broker.started"
BROKER_STOPPING = "broker.stopping"
PRODUCER_ID_TAKEN = "producer_id.taken"
BROKER_FENCED = "broker.fenced"
BROKER_UNFENCED = "broker.unfenced"
SESSION_EXPIRED = "session.expired"
LEADERS_MOVED = "leaders.moved"
PREFERRED_ELECTION = "leaders.preferred"
CONTROLLER_ELECTED = "controller.elected"
PARTITION_OFFLINE = "partition.offline"
PARTITION_ONLINE = "partition.online"
UNCLEAN_ELECTION = "leader.unclean_election"
CONTROLLER_SEEN = "controller.seen"
ISR_SHRUNK = "isr.shrunk"
ISR_UPDATED = "isr.updated"
LOG_DIR_FAILED = "log_dir.failed"
WRITE_REFUSED = "write.refused"

# What hosts and clouds say.
HOST_MAINTENANCE = "host.maintenance"
CLOCK_JUMPED = "clock.jumped"
CPU_STEAL = "host.cpu_steal"
PROCESS_KILLED = "process.killed"
DISK_FULL = "disk.full"

# What a monitoring system says.
ALERT_FIRING = "alert.firing"
ALERT_RESOLVED = "alert.resolved"

# What was configured.
SETTING = "setting"

# What is measured and counted.
METRIC = "metric"
PRODUCERS_COUNTED = "producers.counted"
HEAP_CLASS = "heap.class"
HEAP_SIZE = "heap.size"
HEAP_HOLDERS = "heap.holders"
LOG_SIZE = "log.size"

# What a Java runtime says about its memory.
GC_PAUSED = "gc.paused"
MEMORY_EXHAUSTED = "memory.exhausted"
HEAP_DUMPED = "heap.dumped"

# What other runtimes say about theirs.
RUNTIME_OUT_OF_MEMORY = "runtime.out_of_memory"

# How a cluster stands at one moment.
BROKER_SEEN = "broker.seen"
PARTITION_STATE = "partition.state"
GROUP_STATE = "group.state"
GROUP_LAG = "group.lag"

# How a host and its network stand at one moment.
SOCKET_SEEN = "socket.seen"
NEIGHBOUR_ENTRY = "neighbour.entry"
LINK_SEEN = "link.seen"
HANDSHAKE_PACKET = "handshake.packet"
INSTANCE_SEEN = "instance.seen"
LISTEN_OVERFLOW = "listen.overflow"
TABLE_OVERFLOW = "neighbour.overflow"

# What `leadsman collect` could not collect.
ITEM_NOT_COLLECTED = "item.not_collected"

# What the reader itself sees in a file.
FILE_READ = "file.read"
FILE_NOT_UNDERSTOOD = "file.not_understood"
SUBJECT_ACTIVE = "subject.active"
SUBJECT_IDLE = "subject.idle"
ERROR = "error"
ERRORS_UNLISTED = "errors.unlisted"

STATE = (
    METRIC,
    PRODUCERS_COUNTED,
    HEAP_CLASS,
    HEAP_SIZE,
    HEAP_HOLDERS,
    LOG_SIZE,
    BROKER_SEEN,
    PARTITION_STATE,
    GROUP_STATE,
    GROUP_LAG,
    SOCKET_SEEN,
    NEIGHBOUR_ENTRY,
    LINK_SEEN,
    HANDSHAKE_PACKET,
    INSTANCE_SEEN,
    CPU_STEAL,
    ITEM_NOT_COLLECTED,
    GC_PAUSED,
    HEAP_DUMPED,
)
"""Events that show a state at one moment; none of them is an error by itself."""

LIFECYCLE = (
    CLIENT_STARTED,
    WORKER_STARTED,
    INVOCATION_STARTED,
    INVOCATION_ENDED,
    BROKER_STARTING,
    BROKER_STARTED,
    BROKER_STOPPING,
    PRODUCER_ID_TAKEN,
    BROKER_UNFENCED,
    PARTITION_ONLINE,
    ISR_UPDATED,
    OFFSET_RESET,
    COORDINATOR_FOUND,
    CONSUMER_JOINED,
    CONTROLLER_ELECTED,
    CONTROLLER_SEEN,
    PREFERRED_ELECTION,
)
"""Events of normal operation; none of them is an error."""

CONSUMER, PRODUCER_IDS = "consumer", "producer_ids"

SHOWS = {
    COORDINATOR_FOUND: CONSUMER,
    COORDINATOR_LOST: CONSUMER,
    CONSUMER_JOINED: CONSUMER,
    CONSUMER_ENDED: CONSUMER,
    COMMIT_FAILED: CONSUMER,
    COMMIT_TIMED_OUT: CONSUMER,
    OFFSET_OUT_OF_RANGE: CONSUMER,
    OFFSET_RESET: CONSUMER,
    POLL_INTERVAL_EXCEEDED: CONSUMER,
    PRODUCERS_COUNTED: PRODUCER_IDS,
    MEMORY_EXHAUSTED: PRODUCER_IDS,
}
"""What a log shows for certain, because it holds such a line: a client's log need not be a consumer's, and a broker's
need not count its producer ids. Beside sources, these can show a mode's symptom
(`telemetry.source.symptom_sources`)."""
