"""The action for each error of a consumer: one table, with the reason for each line."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping


class Action(StrEnum):
    """What the runner does."""

    RETRY = "retry"
    """Continue to poll: the client recovers by itself. Only a stall replaces it."""
    IGNORE = "ignore"
    """Nothing: it is no error."""
    REJOIN = "rejoin"
    """Continue to poll: the client joins its group again. Records in flight are delivered again."""
    RESTART = "restart"
    """A new consumer: this one does not recover."""
    STOP = "stop"
    """End with the reason: no consumer with this configuration can work."""


@dataclass(frozen=True, slots=True)
class ErrorAction:
    """One line of the table."""

    action: Action
    reason: str


class ClientError(Protocol):
    """The methods of confluent_kafka.KafkaError that decide."""

    def name(self) -> str:
        """Return its code by name."""

    def fatal(self) -> bool:
        """Whether the client reports itself unusable."""

    def retriable(self) -> bool:
        """Whether the client reports the error as temporary."""


_UNREACHABLE = "The broker is stopped or unreachable; the client reconnects by itself, for as long as it takes."
_NO_LEADER = "The partition has no leader, or a new one; the client retries until the cluster has recovered."
_COORDINATOR = "The group's coordinator moves or starts; the client looks it up again."
_REMOVED = "The group continued without this member; the client joins again."
_DENIED = "An ACL is missing. No retry helps until an administrator adds it."
_LOGIN = "The credentials were rejected. A new consumer loads fresh ones."

ERROR_ACTIONS: Mapping[str, ErrorAction] = {
    **dict.fromkeys(
        ("_TRANSPORT", "_ALL_BROKERS_DOWN", "_RESOLVE", "_TIMED_OUT", "NETWORK_EXCEPTION", "REQUEST_TIMED_OUT"),
        ErrorAction(Action.RETRY, _UNREACHABLE),
    ),
    **dict.fromkeys(
        (
            "LEADER_NOT_AVAILABLE",
            "NOT_LEADER_FOR_PARTITION",
            "REPLICA_NOT_AVAILABLE",
            "FENCED_LEADER_EPOCH",
            "UNKNOWN_LEADER_EPOCH",
            "OFFSET_NOT_AVAILABLE",
            "KAFKA_STORAGE_ERROR",
            "UNKNOWN_TOPIC_OR_PART",
            "UNKNOWN_TOPIC_ID",
            "_UNKNOWN_PARTITION",
            "_UNKNOWN_TOPIC",
        ),
        ErrorAction(Action.RETRY, _NO_LEADER),
    ),
    **dict.fromkeys(
        ("_WAIT_COORD", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR"),
        ErrorAction(Action.RETRY, _COORDINATOR),
    ),
    **dict.fromkeys(
        (
            "_MAX_POLL_EXCEEDED",
            "ILLEGAL_GENERATION",
            "UNKNOWN_MEMBER_ID",
            "REBALANCE_IN_PROGRESS",
            "STALE_MEMBER_EPOCH",
        ),
        ErrorAction(Action.REJOIN, _REMOVED),
    ),
    **dict.fromkeys(
        ("_AUTHENTICATION", "SASL_AUTHENTICATION_FAILED"),
        ErrorAction(Action.RESTART, _LOGIN),
    ),
    **dict.fromkeys(
        ("TOPIC_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"),
        ErrorAction(Action.STOP, _DENIED),
    ),
    "_PARTITION_EOF": ErrorAction(Action.IGNORE, "The end of a partition (enable.partition.eof)."),
    "_NO_OFFSET": ErrorAction(Action.IGNORE, "There was nothing to commit."),
    "_AUTO_OFFSET_RESET": ErrorAction(
        Action.STOP, "There is no valid offset, and auto.offset.reset forbids to choose one: records may be lost."
    ),
    "FENCED_INSTANCE_ID": ErrorAction(
        Action.STOP, "Another process has the same group.instance.id; stop one of the two."
    ),
    "INCONSISTENT_GROUP_PROTOCOL": ErrorAction(
        Action.STOP, "The group's other members use another assignor. Change partition.assignment.strategy."
    ),
    "INVALID_GROUP_ID": ErrorAction(Action.STOP, "The group.id is not valid."),
    "_FATAL": ErrorAction(Action.RESTART, "The client reports itself unusable."),
    "_STATE": ErrorAction(Action.RESTART, "The client is in a state from which it does not recover."),
}
"""By the code's name in librdkafka."""

FATAL = ErrorAction(Action.RESTART, "The client reports itself unusable.")
RETRIABLE = ErrorAction(Action.RETRY, "The client reports the error as temporary.")
UNKNOWN = ErrorAction(Action.RESTART, "This error is in no table: a new consumer, up to max_restarts.")


def error_action(error: ClientError) -> ErrorAction:
    """Return the action for an error. One that is not in the table is decided by what the client reports about it."""
    known = ERROR_ACTIONS.get(error.name())
    if known is not None:
        return known
    if error.fatal():
        return FATAL
    return RETRIABLE if error.retriable() else UNKNOWN
