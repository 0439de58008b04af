"""What clients log about their connections, and why a broker refused them."""

from leadsman import vocabulary as names
from leadsman.event_types.definition import EventType

NODE = {"node": "the broker's id"}
ADDRESS = {"address": "host and port as the client writes them"}
STATE = {"state": "librdkafka's state of the connection", "severity": "librdkafka's level of the line"}
REQUEST = {
    "api": "the Kafka request, such as PRODUCE",
    "correlation": "the request's correlation id",
    "error": "the error as the client names it",
}
PARTITION = {"topic": "", "partition": ""}

EVENTS = (
    EventType(
        names.CONNECTION_LOST,
        "A connection ended while a request was in flight on it.",
        value="how long the request was in flight",
        unit="seconds",
        labels=NODE | ADDRESS | REQUEST | PARTITION,
    ),
    EventType(
        names.CONNECTION_RESET,
        "The peer answered with a TCP reset: it no longer knew the connection.",
        value="how long the connection was in its state",
        unit="seconds",
        labels=NODE | STATE,
    ),
    EventType(
        names.CONNECTION_CLOSED,
        "A connection ended with no request in flight on it; harmless by itself.",
        value="how long the connection was in its state, or idle",
        unit="seconds",
        labels=NODE | ADDRESS | STATE | {"connection": "the connection's id", "reason": "why, as the client says"},
    ),
    EventType(
        names.CONNECTION_REFUSED, "Nothing listened at a broker's address (ECONNREFUSED).", labels=NODE | ADDRESS
    ),
    EventType(
        names.CONNECTION_SETUP_TIMED_OUT,
        "A connection was not established within its timeout.",
        value="the time that it took",
        unit="seconds",
        labels=NODE | ADDRESS | STATE | {"error": "the error as the client names it"},
    ),
    EventType(
        names.CONNECTION_FAILED,
        "A connection could not be opened; the client names neither a refusal nor a timeout.",
        labels=NODE | ADDRESS | {"error": "the error as the client names it"},
    ),
    EventType(
        names.BOOTSTRAP_FAILED,
        "A client reached none of its bootstrap servers, or lost all brokers.",
        labels=ADDRESS | {"reason": "disconnected, no_addresses or no_brokers"},
    ),
    EventType(names.NAME_UNRESOLVED, "A broker's name could not be resolved to an address.", labels=NODE | ADDRESS),
    EventType(
        names.AUTHENTICATION_FAILED,
        "A broker did not accept a client's credentials or certificate.",
        labels=NODE | ADDRESS | {"error": "the error as the client names it"},
    ),
    EventType(
        names.AUTHORIZATION_FAILED,
        "A broker denied a client an operation for which its principal has no permission.",
        labels=ADDRESS
        | {
            "resource": "the resource's type, such as topic",
            "name": "the resource's name",
            "operation": "the denied operation",
            "principal": "who asked for it",
        },
    ),
    EventType(
        names.CLIENT_THROTTLED,
        "A broker delayed a client that exceeded its quota.",
        value="the delay",
        unit="seconds",
        labels=NODE,
    ),
    EventType(
        names.PRODUCER_FENCED,
        "A newer producer with the same transactional.id fenced this one.",
        labels={"transactional_id": ""},
    ),
    EventType(
        names.CERTIFICATE_REJECTED,
        "A TLS certificate was not accepted.",
        labels={
            "reason": "expired, early, presented_expired, untrusted or hostname",
            "expired_at": "when the certificate ended (ISO time)",
        },
    ),
    EventType(names.TLS_FAILED, "A TLS handshake failed, mostly because of a certificate."),
)
