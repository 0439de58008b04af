"""Every name an event may carry. Parsers may emit no other."""

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
HOST_STOLEN = "host.stolen"
PROCESS_KILLED = "process.killed"
DISK_FULL = "disk.full"

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

# What was sought and could not be had.
ITEM_MISSING = "item.missing"

# What the reader itself sees in a file.
FILE_READ = "file.read"
FILE_NOT_UNDERSTOOD = "file.not_understood"
SUBJECT_ACTIVE = "subject.active"
SUBJECT_QUIET = "subject.quiet"
ERROR = "error"
ERRORS_UNLISTED = "errors.unlisted"

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
"""Names that tell of ordinary life and of no error."""

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
"""What a log is known to tell of, because it holds such a line: a client's log need not be a consumer's, and a broker's
need not say how many ids it holds. Beside sources, these are what a mode's `symptom_sources` can name."""

VOCABULARY = {
    CONNECTION_LOST: "A request was under way on a connection that turned out to be gone.",
    CONNECTION_RESET: "The peer answered with a reset: it no longer knew the connection.",
    CONNECTION_CLOSED: "A connection ended while nothing was under way on it: harmless by itself.",
    CONNECTION_REFUSED: "Nothing listened at the address of a broker.",
    CONNECTION_SETUP_TIMED_OUT: "A connection was not established in time.",
    AUTHENTICATION_FAILED: "A broker did not accept the client's credentials or certificate.",
    CONNECTION_FAILED: "A connection could not be opened, neither refused nor timed out. Labels: address.",
    BOOTSTRAP_FAILED: (
        "A client reached none of its bootstrap servers, or lost all brokers. Labels: address, reason (disconnected, "
        "no_addresses, no_brokers)."
    ),
    NAME_UNRESOLVED: "The name of a broker could not be resolved to an address. Labels: address.",
    AUTHORIZATION_FAILED: (
        "A broker refused a client what its principal may not do. Labels: resource, name, operation, principal."
    ),
    CLIENT_THROTTLED: "A broker delayed a client that is above its quota. Value: seconds.",
    PRODUCER_FENCED: "A newer producer with the same transactional.id took over. Labels: transactional_id.",
    CERTIFICATE_REJECTED: (
        "A TLS certificate was not accepted. Labels: reason (expired, early, presented_expired, untrusted, hostname), "
        "expired_at."
    ),
    TLS_FAILED: "A TLS handshake failed, mostly because of a certificate.",
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
    POLL_INTERVAL_EXCEEDED: "A consumer did not poll for longer than max.poll.interval.ms and left its group.",
    OFFSET_RESET: "A consumer took its position from auto.offset.reset. Labels: topic, partition.",
    OFFSET_OUT_OF_RANGE: "A consumer's position was no longer in the log. Labels: topic, partition.",
    CLIENT_STARTED: "A Kafka client was created.",
    WORKER_STARTED: "A serverless worker's process was created: a cold start.",
    INVOCATION_STARTED: "A serverless worker was handed an event.",
    INVOCATION_ENDED: "A serverless worker finished an event; its process may be frozen until the next.",
    INVOCATION_TIMED_OUT: "A serverless worker was killed in the middle of an event.",
    BROKER_STARTING: "A broker's process began to start.",
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
    CONTROLLER_SEEN: "An active controller wrote here: it would have said that it fenced a broker. Labels: node.",
    WRITE_REFUSED: "A broker refused a write: too few replicas are in sync. Labels: topic, partition, wanted.",
    PARTITION_OFFLINE: "A controller left a partition without a leader. Labels: topic, partition.",
    PARTITION_ONLINE: "A controller gave a partition without a leader one. Labels: topic, partition, leader.",
    UNCLEAN_ELECTION: "A replica that was not in sync became leader: records can be lost. Labels: topic, partition.",
    ISR_SHRUNK: "A replica fell behind and was left out. Labels: topic, partition, isr, before.",
    ISR_UPDATED: "The in-sync replicas of a partition changed. Labels: topic, partition, isr, min_isr (under).",
    LOG_DIR_FAILED: "A broker took a log directory out of service after an error of its disk. Labels: dir, node.",
    PROCESS_KILLED: (
        "A process was killed from outside. Labels: reason (oom: for want of memory; signal), process, pid, unit, pod, "
        "scope (host or cgroup: whose memory), rss_kb."
    ),
    DISK_FULL: "A write failed because a disk, or a quota on it, is full.",
    RUNTIME_OUT_OF_MEMORY: "A runtime other than Java's ran out of memory. Labels: runtime.",
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
        "batches), arrivals (ids by tenths of the time from oldest to the count), single_by_time (ids that sent one "
        "batch, by when: width of a bin in ms, number of the first one since 1970, counts), offset (records so far)."
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
    FILE_READ: (
        "One file was read. Value: lines. Labels: bytes, format, sources; timed, zoned; first and last, its times; "
        "dated_by=name, order=none."
    ),
    FILE_NOT_UNDERSTOOD: "A file, or a part of one, could not be read. Text: why.",
    SUBJECT_ACTIVE: "One subject's lines in one file. Value: lines. Labels: until.",
    SUBJECT_QUIET: (
        "A subject wrote nothing for a while. Time: the end. Value: seconds. Labels: since, before_line, before_text."
    ),
    ERROR: "Errors that no parser knows, grouped. Value: how many. Labels: kind, until.",
    ERRORS_UNLISTED: "Errors of kinds beyond those that are told apart. Value: how many. Labels: kinds, until.",
}
