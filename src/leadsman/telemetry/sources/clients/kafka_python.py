"""kafka-python, 2.x and 3.x, through Python's logging."""

from __future__ import annotations

from leadsman import vocabulary as v
from leadsman.telemetry.source import Signature, Source

PARTITION = r"TopicPartition\(topic='(?P<topic>[^'\n]*)', partition=(?P<partition>\d+)\)"
NODE_2 = r"<BrokerConnection [^\n]{0,60}node_id=(?P<node>[\w-]+)"

CONNECTIONS = (
    Signature(v.CONNECTION_RESET, r"Connection lost: (?:KafkaConnectionError: )?\[Errno (?:104|32|54)\]"),
    Signature(v.CONNECTION_RESET, r"Closing connection\. KafkaConnectionError: \[Errno (?:104|32|54)\]"),
    Signature(v.CONNECTION_RESET, r"Abort \(KafkaConnectionError: \[Errno (?:104|32|54)\]"),
    Signature(v.CONNECTION_LOST, r"Error sending produce request to node (?P<node>[\w-]+): KafkaConnectionError"),
    Signature(v.CONNECTION_LOST, r"Error receiving (?:network|ssl) data closing socket"),
    Signature(v.CONNECTION_LOST, r"Error sending request data to <BrokerConnection node_id=(?P<node>[\w-]+)\b"),
    # Every close by the broker is logged at ERROR in these words, harm or none.
    Signature(v.CONNECTION_CLOSED, r"[^r]: socket disconnected"),
    Signature(v.CONNECTION_CLOSED, r"Abort \(KafkaConnectionError: socket disconnected\)"),
    Signature(v.CONNECTION_CLOSED, r"Connection lost: KafkaConnectionError: socket disconnected"),
    Signature(v.CONNECTION_CLOSED, r"Closing connection\. KafkaConnectionError: socket disconnected"),
    Signature(
        v.CONNECTION_CLOSED,
        r"Closing idle connection (?P<node>[\w-]+), last active (?P<value>\d+) ms ago",
        scale=0.001,
        labels={"reason": "idle"},
    ),
    Signature(v.CONNECTION_CLOSED, r"Closing idle connection to node (?P<node>[\w-]+)\b", labels={"reason": "idle"}),
    Signature(
        v.CONNECTION_REFUSED,
        r"Connect attempt to <BrokerConnection node_id=(?P<node>[\w-]+) host=(?P<address>[^ \n]+)[^\n]{0,160} "
        r"returned error (?:111|61)\.",
    ),
    Signature(v.CONNECTION_REFUSED, r"Connection failed: [^\n]{0,120}\[Errno (?:111|61)\]"),
    Signature(v.CONNECTION_REFUSED, r"KafkaConnectionError: (?:111|61) ECONNREFUSED"),
    Signature(v.CONNECTION_REFUSED, r"Bootstrap connection to [^\n]{0,160}\[Errno (?:111|61)\]"),
    Signature(
        v.CONNECTION_SETUP_TIMED_OUT,
        r"Connection attempt to <BrokerConnection node_id=(?P<node>[\w-]+) [^\n]{0,160} timed out",
    ),
    Signature(v.CONNECTION_SETUP_TIMED_OUT, r"Connection failed: [^\n]{0,80}[Tt]imed out"),
    Signature(
        v.BOOTSTRAP_FAILED,
        r"errors\.NoBrokersAvailable|NoBrokersAvailable: NoBrokersAvailable|Unable to bootstrap from \[",
        labels={"reason": "no_brokers"},
        names_source=False,
    ),
    Signature(v.NAME_UNRESOLVED, r"DNS lookup failed for (?P<address>[^ \n,]+)[ ,:]", names_source=False),
    Signature(
        v.AUTHORIZATION_FAILED,
        r"(?P<resource>Topic|Group|Cluster|TransactionalId)AuthorizationFailedError",
        names_source=False,
    ),
    Signature(v.OFFSET_OUT_OF_RANGE, rf"Fetch offset \d+ is out of range for topic-partition {PARTITION}"),
    Signature(v.AUTHENTICATION_FAILED, r"SaslAuthenticationFailed(?:Error)?: "),
    Signature(v.AUTHENTICATION_FAILED, r"SaslHandshake failed: "),
)

REQUESTS = (
    Signature(v.REQUEST_TIMED_OUT, r"imed out after (?P<value>\d+) ms\. Closing connection", scale=0.001),
    Signature(v.REQUEST_TIMED_OUT, r"Error sending produce request to node (?P<node>[\w-]+): \[Error 7\]"),
    Signature(
        v.PRODUCE_RETRIED,
        rf"Got error produce response on topic-partition {PARTITION}, retrying \((?P<attempts>\d+) attempts left\)"
        r"[.:] (?:Error: )?(?:\[Error \d+\] )?(?:<class 'kafka\.errors\.)?(?P<error>\w+)\b",
    ),
    Signature(
        v.RECORD_EXPIRED,
        rf"Expiring (?P<count>\d+) record\(s\) for {PARTITION}: (?P<value>\d+) ms has passed since",
        scale=0.001,
    ),
    Signature(
        v.RECORD_EXPIRED,
        rf"Batch for {PARTITION} containing (?P<count>\d+) record\(s\) expired: ",
    ),
    Signature(v.RECORD_FAILED, rf"Failed to produce messages to topic-partition {PARTITION} "),
    Signature(
        v.RECORD_FAILED,
        r"KafkaTimeoutError: Failed to update metadata after (?P<value>\d+\.\d+) secs",
        labels={"error": "METADATA_TIMED_OUT"},
    ),
    # As the last line of a traceback: the application got the error. aiokafka's errors have the same names.
    Signature(
        v.RECORD_FAILED,
        r"kafka\.errors\.(?P<error>KafkaConnectionError|KafkaTimeoutError|RequestTimedOutError|NodeNotReadyError): ",
        names_source=False,
    ),
    # The same as AWS Lambda's JSON log format writes it.
    Signature(
        v.RECORD_FAILED,
        r"\"errorType\": ?\"(?P<error>KafkaConnectionError|KafkaTimeoutError|RequestTimedOutError|NodeNotReadyError)\"",
        names_source=False,
    ),
    Signature(v.PRODUCER_FENCED, r"errors\.ProducerFenced(?:Error)?\b", names_source=False),
    Signature(v.CLIENT_THROTTLED, r"[Tt]hrottled by (?:the )?(?:quota|broker)\b", names_source=False),
    Signature(v.NOT_LEADER, r"NotLeaderForPartitionError", names_source=False),
    Signature(v.LEADER_NOT_AVAILABLE, r"LeaderNotAvailableError", names_source=False),
)

GROUPS = (
    Signature(
        v.COORDINATOR_LOST,
        r"Marking the coordinator dead \(node (?P<coordinator>[^)\n]+)\) for group (?P<group>[^ \n]+): ",
    ),
    Signature(v.COMMIT_FAILED, r"OffsetCommit for group (?P<group>[^ \n]+) failed"),
    Signature(v.COMMIT_FAILED, r"Auto offset commit failed"),
    Signature(v.COMMIT_FAILED, r"errors\.CommitFailedError"),
)

STARTS = (Signature(v.CLIENT_STARTED, r"IO loop starting \(client_id=(?P<client_id>[^)\n]+)\)"),)

SOURCE = Source("kafka_python", "kafka-python", "client", (*CONNECTIONS, *REQUESTS, *GROUPS, *STARTS))
