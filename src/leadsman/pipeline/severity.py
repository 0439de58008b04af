"""The severity and the title of an error that no finding explains: fatal, lost, retried or noise."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.telemetry.log_line import kafka_error

if TYPE_CHECKING:
    from collections.abc import Mapping


class ErrorSeverity(StrEnum):
    """The most severe first."""

    FATAL = "fatal"
    """A program ended, or cannot work at all."""
    LOST = "lost"
    """A record, a commit or a response is missing."""
    RETRIED = "retried"
    """The program retries by itself."""
    NOISE = "noise"
    """A line that shows no harm by itself."""


SEVERITY_RANK = {severity: rank for rank, severity in enumerate(ErrorSeverity)}

TITLES: Mapping[str, str] = {
    names.CONNECTION_LOST: "Connection lost with a request in flight",
    names.CONNECTION_RESET: "Connection reset by the peer",
    names.CONNECTION_CLOSED: "Connection closed",
    names.CONNECTION_REFUSED: "Connection refused",
    names.CONNECTION_SETUP_TIMED_OUT: "Connection set-up timed out",
    names.CONNECTION_FAILED: "Connection could not be opened",
    names.BOOTSTRAP_FAILED: "No bootstrap server could be reached",
    names.NAME_UNRESOLVED: "Name could not be resolved",
    names.AUTHENTICATION_FAILED: "Authentication failed",
    names.AUTHORIZATION_FAILED: "Not authorized",
    names.CERTIFICATE_REJECTED: "TLS certificate rejected",
    names.CLIENT_THROTTLED: "Client throttled by a quota",
    names.PRODUCER_FENCED: "Producer fenced by a newer one",
    names.TLS_FAILED: "TLS handshake failed",
    names.REQUEST_TIMED_OUT: "Request timed out",
    names.PRODUCE_RETRIED: "Produce request retried",
    names.RECORD_FAILED: "Record not delivered",
    names.RECORD_EXPIRED: "Record expired in the producer",
    names.NOT_LEADER: "Broker is not the leader",
    names.LEADER_NOT_AVAILABLE: "Leader not available",
    names.COORDINATOR_LOST: "Group coordinator lost",
    names.COMMIT_FAILED: "Offset commit failed",
    names.COMMIT_TIMED_OUT: "Offset commit timed out",
    names.CONSUMER_ENDED: "Consumer ended",
    names.POLL_INTERVAL_EXCEEDED: "max.poll.interval.ms exceeded",
    names.OFFSET_OUT_OF_RANGE: "Offset out of range",
    names.INVOCATION_TIMED_OUT: "Invocation timed out",
    names.BROKER_FENCED: "Broker fenced by the controller",
    names.SESSION_EXPIRED: "ZooKeeper session expired",
    names.LEADERS_MOVED: "Leaders moved to other brokers",
    names.PARTITION_OFFLINE: "Partition without a leader",
    names.UNCLEAN_ELECTION: "Unclean leader election",
    names.ISR_SHRUNK: "Replica fell out of the ISR",
    names.LOG_DIR_FAILED: "Log directory failed",
    names.WRITE_REFUSED: "Write refused: too few replicas in sync",
    names.HOST_MAINTENANCE: "Maintenance of a host",
    names.CLOCK_JUMPED: "Clock jumped or processors stood still",
    names.PROCESS_KILLED: "Process killed",
    names.DISK_FULL: "No space left on a disk",
    names.MEMORY_EXHAUSTED: "Java process out of memory",
    names.RUNTIME_OUT_OF_MEMORY: "Process out of memory",
    names.LISTEN_OVERFLOW: "Queue of new connections full",
    names.TABLE_OVERFLOW: "Neighbour table full",
}
"""The title of an error by event name, where the line names no exception."""

EVENTS_BY_SEVERITY: Mapping[ErrorSeverity, tuple[str, ...]] = {
    ErrorSeverity.FATAL: (
        names.AUTHENTICATION_FAILED,
        names.AUTHORIZATION_FAILED,
        names.BOOTSTRAP_FAILED,
        names.CERTIFICATE_REJECTED,
        names.DISK_FULL,
        names.LOG_DIR_FAILED,
        names.MEMORY_EXHAUSTED,
        names.NAME_UNRESOLVED,
        names.PARTITION_OFFLINE,
        names.PROCESS_KILLED,
        names.PRODUCER_FENCED,
        names.RUNTIME_OUT_OF_MEMORY,
        names.TLS_FAILED,
    ),
    ErrorSeverity.LOST: (
        names.COMMIT_TIMED_OUT,
        names.INVOCATION_TIMED_OUT,
        names.OFFSET_OUT_OF_RANGE,
        names.POLL_INTERVAL_EXCEEDED,
        names.RECORD_EXPIRED,
        names.RECORD_FAILED,
        names.UNCLEAN_ELECTION,
        names.WRITE_REFUSED,
    ),
    ErrorSeverity.RETRIED: (
        names.BROKER_FENCED,
        names.CLIENT_THROTTLED,
        names.CLOCK_JUMPED,
        names.COMMIT_FAILED,
        names.CONNECTION_FAILED,
        names.CONNECTION_LOST,
        names.CONNECTION_REFUSED,
        names.CONNECTION_RESET,
        names.CONNECTION_SETUP_TIMED_OUT,
        names.COORDINATOR_LOST,
        names.ISR_SHRUNK,
        names.LEADER_NOT_AVAILABLE,
        names.LISTEN_OVERFLOW,
        names.NOT_LEADER,
        names.PRODUCE_RETRIED,
        names.REQUEST_TIMED_OUT,
        names.SESSION_EXPIRED,
        names.TABLE_OVERFLOW,
    ),
}
SEVERITY_BY_EVENT = {name: severity for severity, group in EVENTS_BY_SEVERITY.items() for name in group}

FATAL_ERRORS = (
    "AuthenticationException",
    "AuthorizationException",
    "AuthorizationFailedError",
    "ConfigException",
    "ExitException",
    "FatalError",
    "FencedException",
    "FencedInstanceIdException",
    "InconsistentClusterIdException",
    "NoBrokersAvailable",
    "NoClassDefFoundError",
    "OutOfMemoryError",
    "StackOverflowError",
    "StreamsException",
    "UnsupportedVersionException",
)
RETRIABLE_ERRORS = (
    "BrokerNotAvailableException",
    "ConcurrentTransactionsException",
    "CoordinatorLoadInProgressException",
    "CoordinatorNotAvailableException",
    "DisconnectException",
    "EOFException",
    "FencedLeaderEpochException",
    "KafkaConnectionError",
    "KafkaStorageException",
    "LeaderNotAvailableException",
    "NetworkException",
    "NodeNotReadyError",
    "NotControllerException",
    "NotCoordinatorException",
    "NotEnoughReplicasException",
    "NotLeaderForPartitionException",
    "NotLeaderOrFollowerException",
    "RebalanceInProgressException",
    "ReplicaNotAvailableException",
    "RequestTimedOutError",
    "RetriableCommitFailedException",
    "RetriableException",
    "UnknownLeaderEpochException",
    "UnknownTopicOrPartitionException",
    "_ALL_BROKERS_DOWN",
    "_TRANSPORT",
)
"""Suffixes of exception names, and librdkafka's error codes. Kafka's clients retry on these (RetriableException)."""

KNOWN_ERRORS = (*FATAL_ERRORS, *RETRIABLE_ERRORS)

SEVERITY_BY_LEVEL = {
    "TRACE": ErrorSeverity.NOISE,
    "DEBUG": ErrorSeverity.NOISE,
    "INFO": ErrorSeverity.NOISE,
    "NOTICE": ErrorSeverity.NOISE,
    "WARN": ErrorSeverity.RETRIED,
    "WARNING": ErrorSeverity.RETRIED,
    "ERROR": ErrorSeverity.LOST,
    "FATAL": ErrorSeverity.FATAL,
    "CRITICAL": ErrorSeverity.FATAL,
    "SEVERE": ErrorSeverity.LOST,
}


REFUSED = re.compile(r"refused|ECONNREFUSED|\b(?:111|61)\b", re.IGNORECASE)


def severity_of(name: str, labels: Mapping[str, str]) -> ErrorSeverity:
    """Return the severity by the event's name; of an unknown error, by its exception and log level."""
    if name == names.ERROR:
        return _severity_of_unknown(labels.get("kind", ""), labels.get("level", ""))
    if name == names.CONSUMER_ENDED:
        return ErrorSeverity.NOISE if labels.get("how") == "closed" else ErrorSeverity.FATAL
    if (name == names.BOOTSTRAP_FAILED and labels.get("reason") == "disconnected") or (
        name == names.LOG_DIR_FAILED and "client_id" in labels
    ):
        return ErrorSeverity.RETRIED  # the client retries with another broker
    return SEVERITY_BY_EVENT.get(name, ErrorSeverity.NOISE)


def _severity_of_unknown(kind: str, level: str) -> ErrorSeverity:
    if kind.endswith(KNOWN_ERRORS):
        return ErrorSeverity.FATAL if kind.endswith(FATAL_ERRORS) else ErrorSeverity.RETRIED
    return SEVERITY_BY_LEVEL.get(level, ErrorSeverity.LOST)


def error_title(name: str, labels: Mapping[str, str], text: str) -> str:
    """Return the exception that the line names, else the title of the event."""
    if name == names.ERROR:
        return labels.get("kind") or "error"
    if name == names.BOOTSTRAP_FAILED and labels.get("reason") == "disconnected":
        return "Bootstrap server disconnected"
    if name == names.CONNECTION_REFUSED and not REFUSED.search(text):
        return TITLES[names.CONNECTION_FAILED]  # Java logs the same line where the attempt timed out
    return kafka_error(text) or TITLES.get(name, name)
