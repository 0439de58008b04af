"""librdkafka (C, C++, Python, Go, .NET, Node, Rust), 0.11 to 2.x, on stderr or inside another logger."""

from __future__ import annotations

from leadsman import vocabulary as v
from leadsman.telemetry.source import Signature, Source

# The severity says more than the message: 4 means that requests were in flight, 6 that none was.
SEVERITY = r"(?:%(?P<severity>\d)\|[^\n]{0,400}?)?"
BROKER = r"(?:/(?P<node>-?\d+|bootstrap): )?"
AGE = r"\(after (?P<value>\d+)ms in state (?P<state>[A-Z_]+)\b"

CONNECTIONS = (
    Signature(
        v.CONNECTION_RESET, rf"{SEVERITY}{BROKER}Disconnected: connection reset by peer[^(\n]*{AGE}", scale=0.001
    ),
    Signature(
        v.CONNECTION_RESET, rf"{SEVERITY}{BROKER}(?:Receive|Send) failed: [^(\n]*reset by peer[^(\n]*{AGE}", scale=0.001
    ),
    Signature(
        v.CONNECTION_RESET, rf"{SEVERITY}{BROKER}(?:Receive|Send) failed: [^(\n]*Broken pipe[^(\n]*{AGE}", scale=0.001
    ),
    Signature(
        v.CONNECTION_CLOSED,
        rf"{SEVERITY}{BROKER}Disconnected \(after (?P<value>\d+)ms in state (?P<state>[A-Z_]+)\b",
        scale=0.001,
    ),
    Signature(v.CONNECTION_CLOSED, rf"{SEVERITY}{BROKER}Receive failed: Disconnected {AGE}", scale=0.001),
    Signature(
        v.CONNECTION_CLOSED,
        rf"{SEVERITY}{BROKER}Disconnected: (?:SSL )?connection closed by peer[^(\n]*{AGE}",
        scale=0.001,
    ),
    Signature(v.CONNECTION_CLOSED, r"Connection max idle time exceeded", labels={"reason": "idle"}),
    Signature(v.CONNECTION_REFUSED, rf"{BROKER}Connect to ipv[46]#(?P<address>[^ \n]+) failed: Connection refused"),
    Signature(
        v.CONNECTION_SETUP_TIMED_OUT,
        rf"{BROKER}Connect to ipv[46]#(?P<address>[^ \n]+) failed: "
        r"(?P<error>Connection timed out|Operation timed out|No route to host)",
    ),
    Signature(
        v.CONNECTION_SETUP_TIMED_OUT,
        r"Connection setup timed out in state (?P<state>[A-Z_]+) \(after (?P<value>\d+)ms",
        scale=0.001,
    ),
    Signature(
        v.CONNECTION_FAILED,
        rf"{BROKER}Connect to ipv[46]#(?P<address>[^ \n]+) failed: "
        r"(?P<error>(?:Network|Host) (?:is )?(?:unreachable|down)|Permission denied|Cannot assign requested address)",
        names_source=False,
    ),
    Signature(v.NAME_UNRESOLVED, rf"{BROKER}Failed to resolve '(?P<address>[^'\n]+)': ", names_source=False),
    Signature(
        v.BOOTSTRAP_FAILED,
        r"(?:\d+/\d+ brokers are down|Local: All broker connections are down|code=_ALL_BROKERS_DOWN)",
        labels={"reason": "no_brokers"},
        names_source=False,
    ),
    Signature(v.AUTHORIZATION_FAILED, r"Broker: (?P<resource>Topic|Group|Cluster) authorization failed"),
    Signature(v.CONNECTION_LOST, r"Local: Broker transport failure", labels={"error": "_TRANSPORT"}),
    Signature(v.CONNECTION_LOST, r"Broker: Broker disconnected before response received"),
    Signature(v.AUTHENTICATION_FAILED, r"SASL authentication (?:error|failure): "),
    Signature(v.AUTHENTICATION_FAILED, rf"{BROKER}SSL handshake failed: "),
    Signature(v.AUTHENTICATION_FAILED, r"KafkaError\{code=_AUTHENTICATION"),
)

REQUESTS = (
    Signature(v.REQUEST_TIMED_OUT, rf"{BROKER}(?P<count>\d+) request\(s\) timed out: disconnect"),
    Signature(
        v.REQUEST_TIMED_OUT,
        r"Timed out (?P<in_flight>\d+) in-flight, (?P<retry_queued>\d+) retry-queued, "
        r"(?P<out_queue>\d+) out-queue, (?P<partly_sent>\d+) partially-sent requests",
    ),
    Signature(
        v.REQUEST_TIMED_OUT,
        r"Timed out (?P<api>\w+)Request (?:in flight|possibly held back)[^(\n]*\(after (?P<value>\d+)ms",
        scale=0.001,
    ),
    Signature(v.RECORD_EXPIRED, r"Local: Message timed out"),
    Signature(v.RECORD_EXPIRED, r"code=_MSG_TIMED_OUT"),
    Signature(
        v.RECORD_FAILED,
        r"[Dd]eliver[^\n]{0,120}(?P<error>_TRANSPORT|Broker transport failure|_TIMED_OUT_QUEUE|NETWORK_EXCEPTION)",
        names_source=False,
    ),
    # A delivery report has the bare text of the code; an error callback has more.
    Signature(
        v.RECORD_FAILED,
        r"KafkaError\{code=(?P<error>_TRANSPORT),val=-195,str=\\?\"Local: Broker transport failure",
    ),
    Signature(v.POLL_INTERVAL_EXCEEDED, r"Application maximum poll interval \(\d+ms\) exceeded by"),
    Signature(v.POLL_INTERVAL_EXCEEDED, r"code=_MAX_POLL_EXCEEDED"),
    Signature(
        v.OFFSET_OUT_OF_RANGE,
        r"(?P<topic>[\w.-]{1,249}) \[(?P<partition>\d+)\]: [^\n]{0,300}Broker: Offset out of range",
    ),
    Signature(v.PRODUCER_FENCED, r"\|TXNERR\|[^\n]{0,300}\(_FENCED\)"),
    Signature(v.PRODUCER_FENCED, r"[Dd]eliver[^\n]{0,120}code=_FENCED\b"),
    Signature(
        v.CLIENT_THROTTLED,
        r"\bbroker [^\n]{1,200} throttled (?:us |the client )?for (?P<value>[1-9]\d{0,7}) ?ms\b",
        scale=0.001,
        names_source=False,
    ),
    Signature(v.NOT_LEADER, r"Broker: Not leader for partition"),
    Signature(v.LEADER_NOT_AVAILABLE, r"Broker: Leader not available"),
    Signature(v.COORDINATOR_LOST, r"Broker: (?P<error>Coordinator not available|Not coordinator)"),
    Signature(v.COMMIT_FAILED, r"Offset commit \([^)\n]*\) failed for"),
)

STARTS = (Signature(v.CLIENT_STARTED, r"librdkafka v(?P<version>\d+\.\d+\.\d+)[^\n]{0,80} initialized"),)

SOURCE = Source("librdkafka", "librdkafka", "client", (*CONNECTIONS, *REQUESTS, *STARTS))
