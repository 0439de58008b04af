"""sarama, the Go client of Shopify and IBM, through its own logger or the application's."""

from __future__ import annotations

from leadsman import vocabulary as v
from leadsman.telemetry.source import Signature, Source

CONNECTION_LOST = r"(?:EOF|[^\n]{0,160}(?:connection reset by peer|broken pipe|use of closed network connection))"
CLOSING = r"producer/broker/(?P<node>-?\d+) state change to \[closing\] because "

SOURCE = Source(
    "sarama",
    "sarama",
    "client",
    (
        Signature(v.CONNECTION_LOST, CLOSING + CONNECTION_LOST, labels={"api": "PRODUCE"}),
        Signature(v.REQUEST_TIMED_OUT, CLOSING + r"[^\n]{0,160}i/o timeout", labels={"api": "PRODUCE"}),
        Signature(v.CONNECTION_FAILED, CLOSING + r"dial tcp: lookup "),
        Signature(v.CONNECTION_LOST, r"kafka server: The server disconnected before a response was received"),
        Signature(v.CONNECTION_LOST, rf"kafka: [Ff]ailed to produce message[^\n]{{0,200}}: {CONNECTION_LOST}"),
        Signature(v.RECORD_FAILED, r"kafka: [Ff]ailed to (?:produce message|deliver \d+ messages)"),
        Signature(
            v.PRODUCE_RETRIED,
            r"state change to \[retrying\] on (?P<topic>[^/\n]+)/(?P<partition>\d+) because ",
        ),
        Signature(v.CONNECTION_CLOSED, r"Closed connection to broker (?P<address>[\w.:-]+)\b"),
        Signature(
            v.CONNECTION_REFUSED, r"Failed to connect to broker (?P<address>[^ \n]+): [^\n]{0,160}connection refused"
        ),
        Signature(
            v.CONNECTION_SETUP_TIMED_OUT, r"Failed to connect to broker (?P<address>[^ \n]+): [^\n]{0,160}i/o timeout"
        ),
        Signature(
            v.BOOTSTRAP_FAILED,
            r"client has run out of available brokers to talk to",
            labels={"reason": "no_brokers"},
            names_source=False,
        ),
        Signature(
            v.NAME_UNRESOLVED,
            r"Failed to connect to broker (?P<address>[^ \n]+): [^\n]{0,160}no such host",
            names_source=False,
        ),
        Signature(
            v.AUTHORIZATION_FAILED, r"kafka server: The client is not authorized to access this (?P<resource>\w+)\b"
        ),
        Signature(v.OFFSET_OUT_OF_RANGE, r"kafka server: The requested offset is outside the range of offsets"),
        Signature(v.AUTHENTICATION_FAILED, r"kafka server: SASL Authentication failed|due to SASL v\d auth error"),
        Signature(v.NOT_LEADER, r"kafka server: Tried to send a message to a replica that is not the leader"),
        Signature(v.LEADER_NOT_AVAILABLE, r"kafka server: In the middle of a leadership election"),
        Signature(v.CLIENT_STARTED, r"Initializing new client", names_source=False),
    ),
)
