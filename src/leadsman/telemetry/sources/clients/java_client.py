"""The Java client (producer, consumer, admin, Streams), 1.x to 4.x, through any logger."""

from __future__ import annotations

from leadsman import vocabulary as v
from leadsman.telemetry.source import Signature, Source

PARTITION = r"(?P<topic>[\w.-]+)-(?P<partition>\d+)"
NETWORK_EXCEPTION = (
    r"org\.apache\.kafka\.common\.errors\.NetworkException: "
    r"(?:The server disconnected before a response was received|Disconnected from node (?P<node>-?\d+)\b)"
)
# The sender thread's own warning puts "due to " before the exception: that is a retry, not a lost record.
NOT_DUE_TO = r"(?:^|[^o ]|[^o] )"

CONNECTIONS = (
    Signature(v.CONNECTION_LOST, rf"error in produce request on partition {PARTITION} due to {NETWORK_EXCEPTION}"),
    Signature(
        v.CONNECTION_LOST,
        r"Cancelled in-flight (?P<api>[A-Z_]+) request with correlation id (?P<correlation>\d+) due to node "
        r"(?P<node>-?\d+) being disconnected \(elapsed time since creation: \d+ms, "
        r"elapsed time since send: (?P<value>\d+)ms",
        scale=0.001,
    ),
    Signature(
        v.CONNECTION_LOST,
        r"Error sending fetch request [^\n]{1,200} to node (?P<node>-?\d+): ?[^\n]{0,60}DisconnectException",
        labels={"api": "FETCH"},
    ),
    Signature(v.CONNECTION_CLOSED, r"Node (?P<node>-?\d+) disconnected\."),
    Signature(v.CONNECTION_CLOSED, r"Idle connection to node (?P<node>-?\d+) disconnected", labels={"reason": "idle"}),
    Signature(
        v.CONNECTION_CLOSED,
        r"About to close the idle connection from (?P<connection>[^ \n]+) due to being idle for (?P<value>\d+) millis",
        scale=0.001,
        labels={"reason": "idle"},
        names_source=False,
    ),
    Signature(
        v.CONNECTION_REFUSED,
        r"Connection to node (?P<node>-?\d+) \((?P<address>[^)\n]+)\) could not be established",
    ),
    Signature(
        v.CONNECTION_SETUP_TIMED_OUT,
        r"Disconnecting from node (?P<node>-?\d+) due to socket connection setup timeout\. "
        r"The timeout value is (?P<value>\d+) ms",
        scale=0.001,
    ),
    Signature(
        v.AUTHENTICATION_FAILED,
        r"Connection to node (?P<node>-?\d+) (?:\((?P<address>[^)\n]+)\) )?failed authentication due to",
    ),
    Signature(
        v.AUTHENTICATION_FAILED,
        r"Connection to node (?P<node>-?\d+) (?:\((?P<address>[^)\n]+)\) )?terminated during authentication",
    ),
    Signature(
        v.AUTHENTICATION_FAILED,
        r"clientId=[^\]\n]{1,200}\] Failed (?:re-)?authentication with [^\n]{0,80}/(?P<address>[^ \n]+) \(",
    ),
    Signature(v.AUTHENTICATION_FAILED, r"errors\.(?P<error>S(?:asl|sl)AuthenticationException): ", names_source=False),
)

BOOTSTRAP = (
    Signature(
        v.BOOTSTRAP_FAILED,
        r"Bootstrap broker (?P<address>[^ \n]+) \(id: -\d+ rack: [^)\n]{0,80}\) disconnected",
        labels={"reason": "disconnected"},
        names_source=False,
    ),
    Signature(
        v.BOOTSTRAP_FAILED,
        r"No resolvable bootstrap urls given in bootstrap\.servers",
        labels={"reason": "no_addresses"},
        names_source=False,
    ),
    Signature(
        v.NAME_UNRESOLVED, r"Couldn't resolve server (?P<address>[^ \n]+) from bootstrap\.servers", names_source=False
    ),
    Signature(
        v.CONNECTION_FAILED,
        r"Error connecting to node (?P<address>[^ \n]+) \(id: (?P<node>-?\d+) rack: ",
        names_source=False,
    ),
    Signature(
        v.NAME_UNRESOLVED,
        r"java\.net\.UnknownHostException: ",
        within={"(id: -": {"node": "bootstrap"}, "Error connecting to node ": {"node": "advertised"}},
        names_source=False,
    ),
    Signature(
        v.AUTHORIZATION_FAILED,
        r"errors\.(?P<resource>Topic|Group|Cluster|TransactionalId|DelegationToken)AuthorizationException",
        names_source=False,
    ),
    Signature(v.AUTHORIZATION_FAILED, r"[^:] Not authorized to access (?P<resource>topic|group)", names_source=False),
)

RECORDS = (
    Signature(v.RECORD_FAILED, rf"{NOT_DUE_TO}{NETWORK_EXCEPTION}", labels={"error": "NETWORK_EXCEPTION"}),
    Signature(  # as JSON encoders write an exception: class and message apart
        v.RECORD_FAILED,
        r"errors\.NetworkException\\?\",[^\n]{0,80}\"(?:The server disconnected before a response was received|"
        r"Disconnected from node (?P<node>-?\d+)\b)",
        labels={"error": "NETWORK_EXCEPTION"},
    ),
    Signature(
        v.RECORD_FAILED,
        r"Topic (?P<topic>[\w.-]+) not present in metadata after (?P<value>\d+) ms",
        scale=0.001,
        labels={"error": "METADATA_TIMED_OUT"},
    ),
    Signature(v.RECORD_FAILED, r"Exception thrown when sending a message with key="),
    Signature(
        v.PRODUCE_RETRIED,
        rf"Got error produce response with correlation id (?P<correlation>\d+) on topic-partition {PARTITION}, "
        r"retrying \((?P<attempts>\d+) attempts left\)\. Error: (?P<error>[A-Z_]+)\b"
        r"(?:\. Error Message: Disconnected from node (?P<node>-?\d+)\b)?",
    ),
    Signature(
        v.RECORD_EXPIRED,
        rf"Expiring (?P<count>\d+) record\(s\) for {PARTITION}: ?(?P<value>\d+) ms has passed since",
        scale=0.001,
    ),
    Signature(v.REQUEST_TIMED_OUT, r"Disconnecting from node (?P<node>-?\d+) due to request timeout"),
    Signature(
        v.REQUEST_TIMED_OUT, r"errors\.TimeoutException: The request timed out", labels={"error": "REQUEST_TIMED_OUT"}
    ),
)

TRANSACTIONS = (
    Signature(
        v.PRODUCER_FENCED,
        r"transactionalId=(?P<transactional_id>[^\]\n]{1,200})\][^\n]{0,200}errors\.ProducerFencedException\b",
    ),
    Signature(v.PRODUCER_FENCED, rf"{NOT_DUE_TO}org\.apache\.kafka\.common\.errors\.ProducerFencedException\b"),
    Signature(
        v.CLIENT_THROTTLED,
        r"(?:produce|fetch)-throttle-time-(?:max|avg)[^\n\d]{1,9}(?P<value>[1-9]\d{0,8})\b",
        scale=0.001,
        names_source=False,
    ),
)

PARTITIONS = (
    Signature(v.NOT_LEADER, r"NOT_LEADER_(?:OR_FOLLOWER|FOR_PARTITION)", names_source=False),
    Signature(v.NOT_LEADER, r"NotLeader(?:OrFollower|ForPartition)Exception", names_source=False),
    Signature(
        v.LEADER_NOT_AVAILABLE,
        r"(?:(?P<topic>[\w.-]{1,249})=)?\bLEADER_NOT_AVAILABLE",
        names_source=False,
        first_word="LEADER_NOT_AVAILABLE",
    ),
    Signature(v.LEADER_NOT_AVAILABLE, r"There is no leader for this topic-partition", names_source=False),
)

POSITIONS = (
    Signature(v.OFFSET_RESET, rf"Resetting offset for partition {PARTITION} to (?:position|offset) "),
    Signature(
        v.OFFSET_OUT_OF_RANGE,
        rf"(?:Fetch position [^\n]{{1,400}}|Fetch offset \d+) is out of range for partition {PARTITION}, ",
    ),
    Signature(v.OFFSET_OUT_OF_RANGE, r"OffsetOutOfRangeException: ", names_source=False),
    Signature(v.POLL_INTERVAL_EXCEEDED, r"consumer poll timeout has expired\. This means the time between"),
)

GROUPS = (
    Signature(
        v.COORDINATOR_LOST,
        r"Group coordinator (?P<address>[^ \n]+) \(id: (?P<coordinator>\d+) rack: [^)\n]*\) is unavailable or invalid",
    ),
    Signature(
        v.COORDINATOR_LOST, r"has been disconnected from the group coordinator for (?P<value>\d+)ms", scale=0.001
    ),
    Signature(v.COMMIT_FAILED, rf"Offset commit failed on partition {PARTITION} at offset \d+: "),
    Signature(
        v.COMMIT_TIMED_OUT,
        r"Timeout of (?P<value>\d+)ms expired before successfully committing (?:the current consumed )?offsets",
        scale=0.001,
    ),
    Signature(
        v.COMMIT_TIMED_OUT,
        r"Task (?P<task>[0-9_]{1,20}) did not make progress within (?P<value>\d+) ms",
        scale=0.001,
        labels={"setting": "task.timeout.ms"},
    ),
    Signature(
        v.COORDINATOR_FOUND, r"Discovered group coordinator (?P<address>[^ \n]+) \(id: (?P<coordinator>\d+) rack: "
    ),
    Signature(
        v.CONSUMER_JOINED,
        r"Successfully joined group with generation (?:Generation\{generationId=)?(?P<generation>\d+)\b",
    ),
    Signature(
        v.CONSUMER_ENDED,
        r"stream-thread \[(?P<thread>[^\]\n]+)\] State transition from [A-Z_]{1,40} to DEAD\b",
        labels={"how": "thread"},
    ),
    Signature(
        v.CONSUMER_ENDED,
        r"stream-client \[(?P<thread>[^\]\n]+)\] All stream threads have died",
        labels={"how": "all"},
    ),
    Signature(
        v.CONSUMER_ENDED, r"App info kafka\.consumer for (?P<thread>[^ \n]+) unregistered", labels={"how": "closed"}
    ),
    Signature(v.COMMIT_FAILED, r"errors?\.CommitFailedException|consumer\.CommitFailedException"),
    Signature(v.COMMIT_FAILED, r"(?:Asynchronous|Synchronous) auto-commit of offsets"),
    Signature(v.COMMIT_FAILED, r"Offset commit with offsets [^\n]{0,900} failed"),
    Signature(v.COMMIT_FAILED, r"Failed to commit stream task (?P<task>[^ \n]+) due to"),
)

STARTS = (
    Signature(v.CLIENT_STARTED, r"(?P<client>Producer|Consumer|AdminClient|Streams)Config values:"),
    Signature(v.PRODUCER_ID_TAKEN, r"ProducerId set to (?P<id>\d+) with epoch (?P<epoch>\d+)\b"),
    # Brokers print their version in the same words.
    Signature(v.CLIENT_STARTED, r"Kafka version ?: (?P<version>\d+\.\d+\.\d+)\b", names_source=False),
)

SOURCE = Source(
    "java_client",
    "Java client",
    "client",
    (*CONNECTIONS, *BOOTSTRAP, *RECORDS, *TRANSACTIONS, *PARTITIONS, *POSITIONS, *GROUPS, *STARTS),
)
