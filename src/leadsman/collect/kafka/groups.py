"""Consumer groups: their states and their lag, as kafka-consumer-groups prints them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leadsman.collect.kafka.connection import batches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from leadsman.collect.kafka.connection import ClusterAdmin

GROUPS_PER_REQUEST = 50
PARTITIONS_PER_REQUEST = 1000

LAG_HEADING = (
    "GROUP",
    "TOPIC",
    "PARTITION",
    "CURRENT-OFFSET",
    "LOG-END-OFFSET",
    "LAG",
    "CONSUMER-ID",
    "HOST",
    "CLIENT-ID",
)
STATE_HEADING = ("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS")
WIDTH = 15
"""Smallest width of a column in the output of Kafka's tool, in characters."""

EMPTY = "Empty"

Partition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class ConsumerGroup:
    """A group as its coordinator lists it, with its members where the group could be described."""

    name: str
    state: str
    coordinator: int
    address: str
    assignor: str
    members: Sequence[dict[str, Any]] | None


def list_groups(cluster: ClusterAdmin) -> Iterator[ConsumerGroup]:
    """Yield all groups, coordinator by coordinator. NotCollected at the end, where a broker did not answer."""
    addresses = {int(each["broker_id"]): f"{each['host']}:{each['port']}" for each in cluster.describe()["brokers"]}
    for node, listed in cluster.request_each_broker(_list_groups):
        for some in batches(sorted(listed, key=lambda each: str(each["group_id"])), GROUPS_PER_REQUEST):
            members = _describe_groups(cluster, [str(each["group_id"]) for each in some], node)
            for each in some:
                yield _group(each, members.get(str(each["group_id"])), node, addresses.get(node, ""))


def _list_groups(admin: Any, node: int) -> list[dict[str, Any]]:  # noqa: ANN401 - the library has no types
    return list(admin.list_groups(broker_ids=[node]))


def _describe_groups(cluster: ClusterAdmin, names: Sequence[str], node: int) -> dict[str, dict[str, Any]]:
    """Return the descriptions of these groups, without those that cannot be described."""
    return cluster.request_halving(lambda admin, some: dict(admin.describe_groups(some, node)), names)[0]


def _group(listed: dict[str, Any], description: dict[str, Any] | None, node: int, address: str) -> ConsumerGroup:
    known = description if description and description.get("group_state") != "Dead" else None
    state = listed.get("group_state") or (known or {}).get("group_state") or "-"
    assignor = (known or {}).get("protocol_data") or "-"
    return ConsumerGroup(
        str(listed["group_id"]), str(state), node, address, str(assignor), known["members"] if known else None
    )


def state_tables(cluster: ClusterAdmin) -> Iterator[str]:
    """Yield one table for each group, like kafka-consumer-groups --describe --all-groups --state."""
    for group in list_groups(cluster):
        yield from _inactive_line(group)
        members = "-" if group.members is None else str(len(group.members))
        row = (group.name, f"{group.address} ({group.coordinator})", group.assignor, group.state, members)
        yield from _table(STATE_HEADING, [row])


def lag_tables(cluster: ClusterAdmin) -> Iterator[str]:
    """Yield one table for each group with its lag by partition, like kafka-consumer-groups --describe --all-groups."""
    for group in list_groups(cluster):
        committed = committed_offsets(cluster, group)
        ends = _end_offsets(cluster, sorted(committed))
        yield from _inactive_line(group)
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
            yield from _table(LAG_HEADING, rows)


def committed_offsets(cluster: ClusterAdmin, group: ConsumerGroup) -> dict[Any, Any]:
    """Return the committed offsets of a group, by partition."""
    response: dict[Any, Any] = cluster.request(lambda admin, name: admin.list_group_offsets({name: None}), group.name)
    return dict(response[group.name])


def _end_offsets(cluster: ClusterAdmin, partitions: list[Any]) -> dict[Any, int]:
    """Return the end offsets. A partition without a leader has none."""
    offsets: dict[Any, int] = {}
    for some in batches(partitions, PARTITIONS_PER_REQUEST):
        offsets |= cluster.request_halving(_request_end_offsets, some)[0]
    return offsets


def _request_end_offsets(admin: Any, partitions: Sequence[Any]) -> dict[Any, int]:  # noqa: ANN401 - the library has no types
    response = admin.list_partition_offsets(dict.fromkeys(partitions, -1), timeout_ms=5000)
    return {each: int(offset.offset) for each, offset in response.items()}


def _owners(group: ConsumerGroup) -> Iterator[tuple[Partition, tuple[str, str, str]]]:
    for member in group.members or ():
        owner = (str(member["member_id"]), str(member["client_host"]), str(member["client_id"]))
        for topic, partition in _assigned_partitions(member):
            yield (topic, partition), owner


def _assigned_partitions(member: dict[str, Any]) -> Iterator[Partition]:
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


def _inactive_line(group: ConsumerGroup) -> Iterator[str]:
    if group.state == EMPTY:
        yield f"\nConsumer group '{group.name}' has no active members.\n"


def _table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(WIDTH, *(len(row[at]) for row in (heading, *rows))) for at in range(len(heading))]
    yield "\n"
    yield _line(heading, widths)
    yield from (_line(row, widths) for row in rows)


def _line(cells: Iterable[str], widths: Iterable[int]) -> str:
    return " ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip() + "\n"
