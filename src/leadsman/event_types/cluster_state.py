"""The state of brokers, partitions and consumer groups at one moment."""

from leadsman import vocabulary as names
from leadsman.event_types.connections import PARTITION
from leadsman.event_types.definition import EventType

EVENTS = (
    EventType(
        names.BROKER_SEEN,
        "A broker of the cluster.",
        labels={
            "id": "the broker's id",
            "host": "",
            "port": "",
            "rack": "",
            "controller": "true or false",
            "fenced": "true or false",
            "version": "the API versions' Kafka release",
        },
    ),
    EventType(
        names.PARTITION_STATE,
        "A partition at one moment.",
        labels=PARTITION
        | {
            "leader": "the leader's broker id; `none` without a leader",
            "replicas": "broker ids",
            "isr": "broker ids",
            "epoch": "the leader epoch",
        },
    ),
    EventType(
        names.GROUP_STATE,
        "A consumer group at one moment.",
        value="how many members",
        unit="members",
        labels={
            "group": "",
            "state": "the group's state",
            "from": "the state before",
            "generation": "",
            "coordinator": "the coordinator's broker id",
            "address": "the coordinator's host and port",
            "assignor": "",
        },
    ),
    EventType(
        names.GROUP_LAG,
        "A consumer group's lag on one partition.",
        value="the lag; none where no offset is committed",
        unit="records",
        labels=PARTITION
        | {
            "group": "",
            "committed": "the committed offset",
            "end": "the log end offset",
            "member": "",
            "host": "",
            "state": "the group's state",
        },
    ),
)
