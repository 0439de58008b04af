"""aiokafka, 0.7 and later, through Python's logging. It logs nothing about connections that close without harm."""

from __future__ import annotations

from leadsman import vocabulary as v
from leadsman.telemetry.source import Signature, Source

LOST = r"KafkaConnectionError: Connection at (?P<address>[^ \n]+) (?:closed|broken)\b"

CONNECTIONS = (
    Signature(v.CONNECTION_LOST, rf"Got error produce response: {LOST}", labels={"api": "PRODUCE"}),
    Signature(v.CONNECTION_LOST, rf"Failed fetch messages from (?P<node>[\w-]+): {LOST}", labels={"api": "FETCH"}),
    Signature(v.CONNECTION_LOST, rf"Heartbeat send request failed: {LOST}", labels={"api": "HEARTBEAT"}),
    Signature(v.CONNECTION_LOST, rf"(?:Could not send|Error sending) [^\n]{{1,120}}{LOST}"),
    Signature(
        v.CONNECTION_REFUSED,
        r"Unable connect to (?:node with id |\")(?P<node>[^ \"\n]+)\"?: [^\n]{0,80}\[Errno (?:111|61)\]",
    ),
    Signature(
        v.CONNECTION_SETUP_TIMED_OUT,
        r"Unable connect to (?:node with id |\")(?P<node>[^ \"\n]+)\"?: [^\n]{0,80}(?:Timeout|\[Errno 110\])",
    ),
)

REQUESTS = (
    Signature(v.REQUEST_TIMED_OUT, r"Got error produce response: (?P<error>RequestTimedOutError)"),
    Signature(v.REQUEST_TIMED_OUT, r"Failed fetch messages from (?P<node>[\w-]+): (?P<error>RequestTimedOutError)"),
    Signature(
        v.PRODUCE_RETRIED,
        r"Got error produce response on topic-partition TopicPartition\(topic='(?P<topic>[^'\n]*)', "
        r"partition=(?P<partition>\d+)\), retrying\. Error: (?:<class '[\w.]{0,60}\.)?(?P<error>\w+)\b",
    ),
    Signature(v.COORDINATOR_LOST, r"Marking the coordinator dead \(node (?P<coordinator>[^)\n]+)\)for group"),
    Signature(v.COORDINATOR_LOST, r"Heartbeat session expired - marking coordinator dead"),
    Signature(v.COMMIT_FAILED, r"OffsetCommit failed for group (?P<group>[^ \n]+) "),
)

SOURCE = Source("aiokafka", "aiokafka", "client", (*CONNECTIONS, *REQUESTS))
