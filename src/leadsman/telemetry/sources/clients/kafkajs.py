"""KafkaJS, the JavaScript client: JSON lines by default."""

from __future__ import annotations

from leadsman import vocabulary as v
from leadsman.telemetry.source import Signature, Source

SEVERED = r"(?:Connection (?:error|timeout)|Closed connection|Request Produce\()"
"""How the message of an error begins that a broken or unanswered connection caused (KafkaJS 2.2, src/errors.js)."""

NETWORK = {"error": "NETWORK_EXCEPTION"}

SOURCE = Source(
    "kafkajs",
    "KafkaJS",
    "client",
    (
        Signature(v.CONNECTION_RESET, r"\[Connection\] Connection error: (?:read|write) (?:ECONNRESET|EPIPE)"),
        Signature(v.CONNECTION_LOST, r"KafkaJSConnection(?:Closed)?Error: Closed connection"),
        Signature(v.CONNECTION_LOST, r"\[(?:Producer|Connection|Cluster)\] Closed connection"),
        Signature(v.CONNECTION_CLOSED, r"Kafka server has closed connection"),
        Signature(
            v.CONNECTION_REFUSED,
            r"\[Connection\] Connection error: connect ECONNREFUSED(?: (?P<address>[\w.-]+:\d+)\b)?",
        ),
        Signature(v.CONNECTION_SETUP_TIMED_OUT, r"\[Connection\] Connection (?:timeout|error: connect ETIMEDOUT)"),
        Signature(
            v.NAME_UNRESOLVED,
            r"\[Connection\] Connection error: getaddrinfo (?:ENOTFOUND|EAI_AGAIN) (?P<address>[\w.-]+)\"",
            names_source=False,
        ),
        Signature(
            v.BOOTSTRAP_FAILED,
            r"\[BrokerPool\] Failed to connect to (?:seed )?broker",
            labels={"reason": "disconnected"},
            names_source=False,
        ),
        Signature(v.REQUEST_TIMED_OUT, r"Request (?P<api>\w+)\(key: \d+, version: \d+\) timed out"),
        Signature(
            v.PRODUCE_RETRIED,
            r"\[Connection\] Response Produce\(key: 0, version: \d+\)[^\n]{0,400}\"error\": ?\"(?P<error>[^\"\n]+)\"",
        ),
        # One attempt failed (src/producer/sendMessages.js); whether another follows is not said.
        Signature(v.PRODUCE_RETRIED, rf"\[Producer\] Failed to send messages: {SEVERED}", labels=NETWORK),
        # What send() throws after the last attempt. A consumer that crashes says "[Consumer] Crash: " before it.
        Signature(v.RECORD_FAILED, rf"(?:^|[^:] |[^ ])KafkaJSNumberOfRetriesExceeded: {SEVERED}", labels=NETWORK),
        # The same as the runtime of AWS Lambda writes it, where the handler did not catch it.
        Signature(
            v.RECORD_FAILED,
            rf"\"errorType\": ?\"KafkaJSNumberOfRetriesExceeded\", ?\"errorMessage\": ?\"{SEVERED}",
            labels=NETWORK,
        ),
        Signature(v.AUTHENTICATION_FAILED, r"KafkaJSSASLAuthenticationError|SASL [A-Z0-9-]+ authentication failed"),
        Signature(v.NOT_LEADER, r"This server is not the leader for that topic-partition", names_source=False),
    ),
)
