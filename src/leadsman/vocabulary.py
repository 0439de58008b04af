"""Every name an event may carry. Parsers may emit no other."""

from __future__ import annotations

# What a client says about its connections.
CONNECTION_LOST = "connection.lost"
CONNECTION_RESET = "connection.reset"
CONNECTION_CLOSED = "connection.closed"
CONNECTION_REFUSED = "connection.refused"
CONNECTION_SETUP_TIMED_OUT = "connection.setup_timed_out"
AUTHENTICATION_FAILED = "authentication.failed"

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

# What the client's process says about itself.
CLIENT_STARTED = "client.started"
WORKER_STARTED = "worker.started"
INVOCATION_STARTED = "invocation.started"
INVOCATION_ENDED = "invocation.ended"
INVOCATION_TIMED_OUT = "invocation.timed_out"

# What brokers say.
BROKER_STARTED = "broker.started"
BROKER_STOPPING = "broker.stopping"
PRODUCER_ID_TAKEN = "producer_id.taken"
BROKER_FENCED = "broker.fenced"
BROKER_UNFENCED = "broker.unfenced"
SESSION_EXPIRED = "session.expired"
LEADERS_MOVED = "leaders.moved"
PREFERRED_ELECTION = "leaders.preferred"
CONTROLLER_ELECTED = "controller.elected"
ISR_SHRUNK = "isr.shrunk"
WRITE_REFUSED = "write.refused"

# What hosts and clouds say.
HOST_MAINTENANCE = "host.maintenance"
CLOCK_JUMPED = "clock.jumped"
HOST_STOLEN = "host.stolen"

# What was configured.
SETTING = "setting"

# What is measured and counted.
METRIC = "metric"
PRODUCERS_COUNTED = "producers.counted"
HEAP_CLASS = "heap.class"
HEAP_SIZE = "heap.size"
HEAP_HELD = "heap.held"
LOG_SIZE = "log.size"

# What a Java runtime says about its memory.
GC_PAUSED = "gc.paused"
MEMORY_EXHAUSTED = "memory.exhausted"
HEAP_DUMPED = "heap.dumped"

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

# What was sought and could not be had.
ITEM_MISSING = "item.missing"

# What the reader itself sees in a file.
FILE_READ = "file.read"
FILE_NOT_UNDERSTOOD = "file.not_understood"
SUBJECT_ACTIVE = "subject.active"
SUBJECT_QUIET = "subject.quiet"
ERROR = "error"

STATE = (
    METRIC,
    PRODUCERS_COUNTED,
    HEAP_CLASS,
    HEAP_SIZE,
    HEAP_HELD,
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
    HOST_STOLEN,
    ITEM_MISSING,
    GC_PAUSED,
    HEAP_DUMPED,
)
"""Names that tell how things stood at one moment, and of no error by themselves."""

LIFE = (
    CLIENT_STARTED,
    WORKER_STARTED,
    INVOCATION_STARTED,
    INVOCATION_ENDED,
    BROKER_STARTED,
    BROKER_STOPPING,
    PRODUCER_ID_TAKEN,
    BROKER_UNFENCED,
    COORDINATOR_FOUND,
    CONSUMER_JOINED,
    CONTROLLER_ELECTED,
    PREFERRED_ELECTION,
)
"""Names that tell of ordinary life and of no error."""

VOCABULARY = {
    CONNECTION_LOST: "A request was under way on a connection that turned out to be gone.",
    CONNECTION_RESET: "The peer answered with a reset: it no longer knew the connection.",
    CONNECTION_CLOSED: "A connection ended while nothing was under way on it: harmless by itself.",
    CONNECTION_REFUSED: "Nothing listened at the address of a broker.",
    CONNECTION_SETUP_TIMED_OUT: "A connection was not established in time.",
    AUTHENTICATION_FAILED: "A broker did not accept the client's credentials or certificate.",
    REQUEST_TIMED_OUT: "A request was sent and no answer came in time.",
    PRODUCE_RETRIED: "A produce request failed and is sent again: the record is delayed, not lost.",
    RECORD_FAILED: "The application was told that a record was not delivered.",
    RECORD_EXPIRED: "A record waited longer than it may and was given up.",
    NOT_LEADER: "A broker said that it does not lead the partition.",
    LEADER_NOT_AVAILABLE: "A partition had no leader when it was asked for.",
    COORDINATOR_LOST: "A consumer lost the coordinator of its group.",
    COORDINATOR_FOUND: "A consumer was told which broker coordinates its group. Labels: coordinator.",
    COMMIT_FAILED: "A consumer could not commit its offsets.",
    COMMIT_TIMED_OUT: "A consumer gave a commit up: nobody took it in time. Value: its patience in seconds.",
    CONSUMER_JOINED: "A consumer became a member of its group. Labels: generation.",
    CONSUMER_ENDED: "A consumer, or a thread of Kafka Streams, ended. Labels: thread, how (thread, all, closed).",
    CLIENT_STARTED: "A Kafka client was created.",
    WORKER_STARTED: "A serverless worker's process was created: a cold start.",
    INVOCATION_STARTED: "A serverless worker was handed an event.",
    INVOCATION_ENDED: "A serverless worker finished an event; its process may be frozen until the next.",
    INVOCATION_TIMED_OUT: "A serverless worker was killed in the middle of an event.",
    BROKER_STARTED: "A broker finished its start-up.",
    BROKER_STOPPING: "A broker began to shut down.",
    PRODUCER_ID_TAKEN: "A producer was given an id. Labels: id, epoch, client_id, host.",
    GC_PAUSED: (
        "A Java runtime stopped to collect garbage. Value: seconds. Labels: kind (Pause Full, GC and the like), "
        "before, after and size of the heap, unit (K, M or G)."
    ),
    MEMORY_EXHAUSTED: "A Java runtime ran out of memory. Labels: reason.",
    HEAP_DUMPED: "A Java runtime wrote its heap to a file. Labels: dump.",
    BROKER_FENCED: "The controller took a broker for dead: it had not heard of it for too long. Labels: node.",
    BROKER_UNFENCED: "The controller took a broker in. Labels: node.",
    SESSION_EXPIRED: "ZooKeeper gave a session up. Value: its length in seconds.",
    LEADERS_MOVED: "The controller gave partitions other leaders. Value: how many.",
    PREFERRED_ELECTION: "Partitions are led by their preferred replica again.",
    CONTROLLER_ELECTED: "A node became the controller. Labels: node.",
    WRITE_REFUSED: "A broker refused a write: too few replicas are in sync. Labels: topic, partition, wanted.",
    ISR_SHRUNK: "A replica fell behind and was left out. Labels: topic, partition, isr.",
    HOST_MAINTENANCE: (
        "A cloud moved, stopped or restarted a host. Labels: host, provider, action (migrate, terminate, restart, "
        "error, notice)."
    ),
    CLOCK_JUMPED: "A host's clock leapt, or its processors stood still: it had been stopped. Value: seconds.",
    HOST_STOLEN: (
        "How long a hypervisor has kept a host's processors from running. Value: seconds of one processor, since "
        "`since`, or since the host started. Labels: cpu (none: the average of all), since (an ISO time)."
    ),
    SETTING: "A setting and its value, as a log or file shows it. Labels: key, value, owner.",
    METRIC: "A metric at one moment. Value: the number. Labels: metric (the name as exposed) and its own labels.",
    PRODUCERS_COUNTED: (
        "Producer ids that a broker holds for one partition, or in all. Value: how many. Labels: topic, partition, "
        "broker, via (describe_producers, snapshot, histogram, heap_dump, metric, dump_log, broker_log), single (how "
        "many sent one batch only), few (ten records at most), transactional, oldest, newest (ISO times of their last "
        "batches), arrivals (ids by tenths of the time from oldest to the count), offset (records so far)."
    ),
    HEAP_CLASS: "The instances of one class on a heap; class `total`: of all. Value: bytes. Labels: class, instances.",
    HEAP_HELD: (
        "Who holds the instances of a class in a heap dump, followed upwards from samples. Value: samples held so. "
        "Labels: class, holder (fields, the nearest first), samples (all)."
    ),
    HEAP_SIZE: "The size of a heap. Value: bytes. Labels: kind (max, committed or used).",
    LOG_SIZE: "A partition's log on one broker's disk. Value: bytes. Labels: topic, partition, broker, dir.",
    BROKER_SEEN: "A broker of the cluster. Labels: id, host, port, rack, controller (true or false).",
    PARTITION_STATE: (
        "A partition at one moment. Labels: topic, partition, leader (`none` where there is none), replicas, isr, "
        "epoch."
    ),
    GROUP_STATE: "A consumer group. Value: members. Labels: group, state, coordinator, assignor.",
    GROUP_LAG: (
        "A group on one partition. Value: records behind, none where nothing is committed. Labels: group, topic, "
        "partition, committed, end, member, host, client_id, state."
    ),
    SOCKET_SEEN: (
        "A TCP socket, or several between the same ends. Value: how many. Labels: state (as `ss` writes it), local, "
        "local_port, remote, remote_port, recv_q, send_q, retransmits."
    ),
    NEIGHBOUR_ENTRY: (
        "What a host believes to be the MAC of an address. Labels: address, mac (none where it was not found), state, "
        "device, updated (seconds since the entry was made)."
    ),
    LINK_SEEN: "An interface of a host. Labels: device, mac, mtu, address.",
    HANDSHAKE_PACKET: (
        "A TCP packet that opens or refuses a connection, as a host saw it pass. Value: how many like it. Labels: "
        "flags (S, SA, A or R), src, src_port, dst, dst_port, src_mac, dst_mac."
    ),
    INSTANCE_SEEN: (
        "An instance or interface in an inventory. Labels: address, mac, launched, ended (ISO times), instance, name."
    ),
    LISTEN_OVERFLOW: "The kernel complained of a full queue of new connections. Labels: port.",
    TABLE_OVERFLOW: "The kernel's neighbour table was full.",
    ITEM_MISSING: "Something that was sought and could not be had. Text: what and why. Labels: command, what.",
    FILE_READ: "One file was read. Value: lines. Labels: bytes, format, sources, until.",
    FILE_NOT_UNDERSTOOD: "A file, or a part of one, could not be read. Text: why.",
    SUBJECT_ACTIVE: "One subject's lines in one file. Value: lines. Labels: until.",
    SUBJECT_QUIET: (
        "A subject wrote nothing for a while. Time: the end. Value: seconds. Labels: since, before_line, before_text."
    ),
    ERROR: "Errors that no parser knows, grouped. Value: how many. Labels: kind, until.",
}
