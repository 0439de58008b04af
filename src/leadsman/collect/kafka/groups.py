"""Consumer groups: their states, and how far behind they are, as kafka-consumer-groups prints it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leadsman.collect.collector import CouldNotBeHad
from leadsman.collect.kafka.connection import batches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from leadsman.collect.kafka.connection import Cluster

GROUPS_AT_ONCE = 50
PARTITIONS_AT_ONCE = 1000

LAG = ("GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID")
STATE = ("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS")
WIDTH = 15
"""Characters that Kafka's tool gives a column at least."""

EMPTY = "Empty"

Partition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Group:
    """A group as its coordinator lists it, and its members where they can be had."""

    name: str
    state: str
    coordinator: int
    address: str
    assignor: str
    members: Sequence[dict[str, Any]] | None


def groups(cluster: Cluster) -> list[Group]:
    """Return all groups, coordinator by coordinator."""
    brokers = cluster.described()["brokers"]
    found: list[Group] = []
    for broker in sorted(brokers, key=lambda each: int(each["broker_id"])):
        node, address = int(broker["broker_id"]), f"{broker['host']}:{broker['port']}"
        listed = cluster.ask(lambda admin, node: admin.list_groups(broker_ids=[node]), node)
        for some in batches(sorted(listed, key=lambda each: str(each["group_id"])), GROUPS_AT_ONCE):
            members = _described(cluster, [str(each["group_id"]) for each in some], node)
            found += [_group(each, members.get(str(each["group_id"])), node, address) for each in some]
    return found


def _described(cluster: Cluster, names: list[str], node: int) -> dict[str, dict[str, Any]]:
    """Return what is known of these groups; one that cannot be described spoils the answer for all."""
    try:
        found: dict[str, dict[str, Any]] = cluster.ask(lambda admin: admin.describe_groups(names, node))
    except CouldNotBeHad:
        if len(names) == 1:
            return {}
        half = len(names) // 2
        return _described(cluster, names[:half], node) | _described(cluster, names[half:], node)
    return found


def _group(listed: dict[str, Any], told: dict[str, Any] | None, node: int, address: str) -> Group:
    known = told if told and told.get("group_state") != "Dead" else None
    state = listed.get("group_state") or (known or {}).get("group_state") or "-"
    assignor = (known or {}).get("protocol_data") or "-"
    return Group(str(listed["group_id"]), str(state), node, address, str(assignor), known["members"] if known else None)


def states(cluster: Cluster) -> Iterator[str]:
    """Yield a table a group, like kafka-consumer-groups --describe --all-groups --state."""
    for group in groups(cluster):
        yield from _inactive(group)
        members = "-" if group.members is None else str(len(group.members))
        row = (group.name, f"{group.address} ({group.coordinator})", group.assignor, group.state, members)
        yield from _table(STATE, [row])


def lags(cluster: Cluster) -> Iterator[str]:
    """Yield a table a group with its lag by partition, like kafka-consumer-groups --describe --all-groups."""
    for group in groups(cluster):
        committed = committed_by(cluster, group)
        ends = _ends(cluster, sorted(committed))
        yield from _inactive(group)
        owners = dict(_owners(group))
        rows = [
            _lag_row(
                group.name,
                (each.topic, each.partition),
                committed=committed[each].offset,
                end=ends.get(each),
                owner=owners.get((each.topic, each.partition), ("-", "-", "-")),
            )
            for each in sorted(committed)
        ]
        if rows:
            yield from _table(LAG, rows)


def committed_by(cluster: Cluster, group: Group) -> dict[Any, Any]:
    """Return what a group has committed, by partition."""
    found: dict[Any, Any] = cluster.ask(lambda admin, name: admin.list_group_offsets({name: None}), group.name)
    return dict(found[group.name])


def _ends(cluster: Cluster, partitions: list[Any]) -> dict[Any, int]:
    """Return the end offsets that can be had: a partition without leader has none."""
    found: dict[Any, int] = {}
    for some in batches(partitions, PARTITIONS_AT_ONCE):
        found |= _ends_of(cluster, list(some))
    return found


def _ends_of(cluster: Cluster, some: list[Any]) -> dict[Any, int]:
    try:
        found = cluster.ask(lambda admin: admin.list_partition_offsets(dict.fromkeys(some, -1), timeout_ms=5000))
    except CouldNotBeHad:
        if len(some) == 1:
            return {}
        half = len(some) // 2
        return _ends_of(cluster, some[:half]) | _ends_of(cluster, some[half:])
    return {each: int(told.offset) for each, told in found.items()}


def _owners(group: Group) -> Iterator[tuple[Partition, tuple[str, str, str]]]:
    for member in group.members or ():
        who = (str(member["member_id"]), str(member["client_host"]), str(member["client_id"]))
        for topic, partition in _assigned(member):
            yield (topic, partition), who


def _assigned(member: dict[str, Any]) -> Iterator[Partition]:
    assignment = member.get("member_assignment")
    parts = assignment.get("assigned_partitions", ()) if isinstance(assignment, dict) else ()
    for each in parts:
        for partition in each["partitions"]:
            yield str(each["topic"]), int(partition)


def _lag_row(
    group: str, partition: Partition, *, committed: int, end: int | None, owner: tuple[str, str, str]
) -> tuple[str, ...]:
    lag = "-" if end is None or committed < 0 else str(end - committed)
    offsets = ("-" if committed < 0 else str(committed), "-" if end is None else str(end), lag)
    return (group, partition[0], str(partition[1]), *offsets, *owner)


def _inactive(group: Group) -> Iterator[str]:
    if group.state == EMPTY:
        yield f"\nConsumer group '{group.name}' has no active members.\n"


def _table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(WIDTH, *(len(row[at]) for row in (heading, *rows))) for at in range(len(heading))]
    yield "\n"
    yield _line(heading, widths)
    yield from (_line(row, widths) for row in rows)


def _line(cells: Iterable[str], widths: Iterable[int]) -> str:
    return " ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip() + "\n"
