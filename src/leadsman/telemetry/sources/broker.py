"""Brokers and controllers, ZooKeeper era and KRaft."""

from __future__ import annotations

from leadsman import vocabulary as v
from leadsman.telemetry.source import Signature, Source

PARTITION = r"(?P<topic>[\w.-]+)-(?P<partition>\d+)"

CONTROLLER = (
    Signature(v.BROKER_FENCED, r"Fencing broker (?P<node>\d+) (?:at epoch \d+ )?because its session has timed out"),
    Signature(v.BROKER_FENCED, r"Newly added brokers: [\d,]{0,200}, deleted brokers: (?P<node>\d+)\b"),
    Signature(v.BROKER_UNFENCED, r"Newly added brokers: (?P<node>\d+)\b"),
    Signature(v.BROKER_UNFENCED, r"The request from broker (?P<node>\d+) to unfence has been granted"),
    Signature(
        v.SESSION_EXPIRED,
        r"Expiring session (?P<session>0x[0-9a-f]+), timeout of (?P<value>\d+)ms exceeded",
        scale=0.001,
    ),
    Signature(v.LEADERS_MOVED, r"handleBrokerFenced: changing (?P<value>\d+) partition\(s\)"),
    Signature(v.PREFERRED_ELECTION, r"Starting replica leader election \(PREFERRED\) for partitions"),
    Signature(v.PREFERRED_ELECTION, r"Periodic task electPreferred generated (?P<value>\d+) records"),
    Signature(v.CONTROLLER_ELECTED, r"\b(?P<node>\d+) successfully elected as the controller"),
    Signature(v.CONTROLLER_ELECTED, r"\[QuorumController id=(?P<node>\d+)\] Becoming the active controller"),
)

LEADERSHIP = (
    Signature(
        v.PARTITION_STATE,
        rf"\[Broker id=(?P<leader>\d+)\] Leader {PARTITION} (?:with topic id [^\n]{{1,60}} )?starts at leader epoch "
        r"(?P<epoch>\d+) from offset [^\n]{1,90} ISR \[(?P<isr>[\d,]*)\]",
    ),
    Signature(
        v.PARTITION_STATE,
        rf"\[Partition {PARTITION} broker=(?P<leader>\d+)\] [\w.-]{{1,255}} starts at leader epoch (?P<epoch>\d+) from",
    ),
    Signature(
        v.ISR_SHRUNK,
        rf"\[Partition {PARTITION} broker=(?P<leader>\d+)\] Shrinking ISR from [\d,]{{1,200}} to (?P<isr>[\d,]+)\b",
    ),
    # 2.x names the set, 4.x its size and then the set.
    Signature(
        v.WRITE_REFUSED,
        r"NotEnoughReplicasException: The size of the current ISR [^\n]{1,200} is insufficient to satisfy the min\.isr "
        rf"requirement of (?P<wanted>\d+) for partition {PARTITION}\b",
    ),
)

SOURCE = Source(
    "broker",
    "Kafka broker",
    "broker",
    (
        *CONTROLLER,
        *LEADERSHIP,
        Signature(v.BROKER_STARTED, r"\[KafkaServer id=(?P<node>\d+)\] started"),
        Signature(v.BROKER_STARTED, r"\[KafkaRaftServer nodeId=(?P<node>\d+)\] Kafka Server started"),
        Signature(v.BROKER_STARTED, r"\[Kafka Server (?P<node>\d+)\], started"),
        Signature(v.BROKER_STOPPING, r"\[(?:KafkaServer|BrokerServer) id=(?P<node>\d+)\] shutting down"),
        Signature(v.BROKER_STOPPING, r"\[Kafka Server (?P<node>\d+)\], shutting down"),
        Signature(v.BROKER_STOPPING, r"\[KafkaServer id=(?P<node>\d+)\] Starting controlled shutdown"),
        Signature(v.BROKER_STOPPING, r"\[BrokerLifecycleManager id=(?P<node>\d+)\] Beginning controlled shutdown"),
        # Connect and other tools print the same, but none of them beside clients of theirs.
        Signature(
            v.BROKER_STOPPING, r"Terminating process due to signal (?P<signal>SIG[A-Z0-9]+)\b", names_source=False
        ),
        Signature(
            v.AUTHENTICATION_FAILED,
            r"Failed (?:re-)?authentication with [^\n]{0,80}/(?P<address>[^ \n]+) \(",
        ),
        Signature(
            v.PRODUCERS_COUNTED,
            r"\[ProducerStateManager partition=(?P<topic>[\w.-]+)-(?P<partition>\d+)\] Wrote producer snapshot "
            r"at offset (?P<offset>\d+) with (?P<value>\d+) producer ids\b",
            labels={"via": "broker_log"},
        ),
        # The request log, at DEBUG: the only place in which a broker says who asks for ids.
        Signature(
            v.PRODUCER_ID_TAKEN,
            r'"clientId":"(?P<client_id>[^"\n]{1,200})","requestApiKeyName":"INIT_PRODUCER_ID"[^\n]{0,900}'
            r'"connection":"[^"\n]{1,60}-(?P<host>[^"\n-]{1,60}):\d+-',
        ),
        Signature(
            v.CONNECTION_LOST,
            r"java\.io\.IOException: Connection to (?P<node>[^ \n]+) was disconnected before the response was read",
            labels={"api": "FETCH"},
        ),
    ),
)
