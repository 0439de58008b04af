"""Brokers and controllers, ZooKeeper era and KRaft."""

from __future__ import annotations

from leadsman import vocabulary as v
from leadsman.telemetry.source import Signature, Source

SOURCE = Source(
    "broker",
    "Kafka broker",
    "broker",
    (
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
