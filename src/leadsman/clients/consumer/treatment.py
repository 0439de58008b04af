"""What to do about each error of a consumer: one table, with the reason for each line."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping


class Action(StrEnum):
    """What the runner does."""

    RETRY = "retry"
    """Go on polling: the client heals this by itself. Only a stall ends the patience."""
    SKIP = "skip"
    """Nothing: it is no error."""
    REJOIN = "rejoin"
    """Go on polling: the client joins its group anew. What was under way is delivered again."""
    RESTART = "restart"
    """A new consumer: this one does not come back."""
    STOP = "stop"
    """End, and say why: no consumer with this configuration can work."""


@dataclass(frozen=True, slots=True)
class Treatment:
    """One line of the table."""

    action: Action
    because: str


class ClientError(Protocol):
    """What the table is asked with: a confluent_kafka.KafkaError."""

    def name(self) -> str:
        """Return its code by name."""

    def fatal(self) -> bool:
        """Whether the client says that it is beyond use."""

    def retriable(self) -> bool:
        """Whether the client says that it passes."""


_AWAY = "The broker or the way to it is gone; the client reconnects by itself, for as long as it takes."
_SETTLING = "The partition has no leader, or a new one; the client asks again until the cluster has settled."
_COORDINATOR = "The group's coordinator moves or starts; the client looks for it again."
_REMOVED = "The group went on without this member; the client joins anew."
_DENIED = "An access rule is missing. No retry brings it; a person does."
_LOGIN = "The credentials were rejected. A new consumer asks for fresh ones."

TREATMENTS: Mapping[str, Treatment] = {
    **dict.fromkeys(
        ("_TRANSPORT", "_ALL_BROKERS_DOWN", "_RESOLVE", "_TIMED_OUT", "NETWORK_EXCEPTION", "REQUEST_TIMED_OUT"),
        Treatment(Action.RETRY, _AWAY),
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
        Treatment(Action.RETRY, _SETTLING),
    ),
    **dict.fromkeys(
        ("_WAIT_COORD", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR"),
        Treatment(Action.RETRY, _COORDINATOR),
    ),
    **dict.fromkeys(
        (
            "_MAX_POLL_EXCEEDED",
            "ILLEGAL_GENERATION",
            "UNKNOWN_MEMBER_ID",
            "REBALANCE_IN_PROGRESS",
            "STALE_MEMBER_EPOCH",
        ),
        Treatment(Action.REJOIN, _REMOVED),
    ),
    **dict.fromkeys(
        ("_AUTHENTICATION", "SASL_AUTHENTICATION_FAILED"),
        Treatment(Action.RESTART, _LOGIN),
    ),
    **dict.fromkeys(
        ("TOPIC_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"),
        Treatment(Action.STOP, _DENIED),
    ),
    "_PARTITION_EOF": Treatment(Action.SKIP, "The end of a partition, which was asked for."),
    "_NO_OFFSET": Treatment(Action.SKIP, "There was nothing to commit."),
    "_AUTO_OFFSET_RESET": Treatment(
        Action.STOP, "There is no valid offset, and auto.offset.reset forbids to choose one: data may be gone."
    ),
    "FENCED_INSTANCE_ID": Treatment(
        Action.STOP, "Another process has the same group.instance.id; one of them must go."
    ),
    "INCONSISTENT_GROUP_PROTOCOL": Treatment(
        Action.STOP, "The group's other members use another assignor. Change partition.assignment.strategy."
    ),
    "INVALID_GROUP_ID": Treatment(Action.STOP, "The group's name is not valid."),
    "_FATAL": Treatment(Action.RESTART, "The client says that it is beyond use."),
    "_STATE": Treatment(Action.RESTART, "The client is in a state that it does not leave."),
}
"""By the code's name in librdkafka."""

BEYOND_USE = Treatment(Action.RESTART, "The client says that it is beyond use.")
PASSES = Treatment(Action.RETRY, "The client says that it passes.")
UNKNOWN = Treatment(Action.RESTART, "This error is in no table: a new consumer, as often as the budget allows.")


def treatment(error: ClientError) -> Treatment:
    """Return what to do about an error. What the table does not hold is judged by what the client says of it."""
    known = TREATMENTS.get(error.name())
    if known is not None:
        return known
    if error.fatal():
        return BEYOND_USE
    return PASSES if error.retriable() else UNKNOWN
