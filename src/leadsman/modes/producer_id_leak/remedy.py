"""How brokers that hold too many producer ids are freed of them: by what their version can do.

Trimming frees ids before 2.4 only, a lower expiry without a restart since 3.4 only; see `eras.py` for the figures.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import click

from leadsman.collect.collector import CouldNotBeHad
from leadsman.collect.kafka.opening import address, opened, options
from leadsman.collect.span import Span
from leadsman.modes.producer_id_leak import expiring, trimming
from leadsman.modes.producer_id_leak.eras import era_of
from leadsman.modes.producer_id_leak.holding import held, oldest_version, on_heaps
from leadsman.remedies.remedy import Refused, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import timedelta
    from pathlib import Path

    from leadsman.collect.kafka.connection import Cluster
    from leadsman.collect.kafka.opening import Address
    from leadsman.remedies.remedy import Plan

EXPIRY, TRIM, DELETE, BY_VERSION = "expiry", "trim", "delete-topic", "version"


@contextmanager
def by_version(
    *,
    bootstrap: str,
    command_config: Path | None,
    by: str,
    topic: tuple[str, ...],
    expire_after: timedelta,
    within: timedelta,
    pid: tuple[int, ...],
    even_unread: bool,
) -> Iterator[Plan]:
    """Yield the plan that suits the oldest broker of the cluster, or the one that was asked for."""
    where = address(bootstrap, command_config)
    with opened(where) as cluster:
        chosen = _chosen(cluster) if by == BY_VERSION else by
        if chosen == EXPIRY:
            yield _expiry(cluster, where, topic, after=expire_after, within=within)
        elif chosen == TRIM:
            yield _trim(cluster, where, topic, pids=pid, even_unread=even_unread)
        else:
            yield _delete(cluster, where, topic, pids=pid, even_unread=even_unread)


@contextmanager
def trim(
    *, bootstrap: str, command_config: Path | None, topic: tuple[str, ...], pid: tuple[int, ...], even_unread: bool
) -> Iterator[Plan]:
    """Yield the plan to trim these topics."""
    where = address(bootstrap, command_config)
    with opened(where) as cluster:
        yield _trim(cluster, where, topic, pids=pid, even_unread=even_unread)


def _chosen(cluster: Cluster) -> str:
    """Return what frees ids on these brokers at the least price; Refused where only a restart would."""
    if expiring.settings(cluster):
        return EXPIRY
    version = ".".join(map(str, oldest_version(cluster)))
    if era_of(version).trim_frees:
        return TRIM
    raise Refused(
        f"These brokers ({version} by what they can do) free ids neither by trimming nor by a setting that takes "
        "effect at once. Either set transactional.id.expiration.ms in server.properties, for example to 86400000, and "
        "restart the brokers one by one; or delete the topic: --by delete-topic --topic NAME"
    )


def _expiry(cluster: Cluster, where: Address, topic: Sequence[str], *, after: timedelta, within: timedelta) -> Plan:
    if not expiring.settings(cluster):
        raise Refused(f"These brokers have no {expiring.KEY}: it came with Kafka 3.4.")
    return expiring.plan(cluster, where, topics=topic, after=after, within=within)


def _trim(cluster: Cluster, where: Address, topic: Sequence[str], *, pids: Sequence[int], even_unread: bool) -> Plan:
    _named(topic, "trimmed")
    version = ".".join(map(str, oldest_version(cluster)))
    if not era_of(version).trim_frees:
        raise Refused(
            f"Since Kafka 2.4 trimming frees no id, and these brokers are newer ({version} by what they can do): the "
            "data would be lost for nothing. What does free them: leadsman remedy producer_id_leak"
        )
    for name in topic:
        if "delete" not in (policy := trimming.cleaned_by(cluster, name)):
            raise Refused(f"{name} is compacted (cleanup.policy={policy}): brokers delete no records of it on demand.")
    return trimming.trim(cluster, where, names=topic, pids=pids, even_unread=even_unread)


def _delete(cluster: Cluster, where: Address, topic: Sequence[str], *, pids: Sequence[int], even_unread: bool) -> Plan:
    _named(topic, "deleted")
    if len(topic) > 1:
        raise Refused("One topic at a time is deleted: name one with --topic.")

    count_ids = partial(_ids, cluster, pids)
    return trimming.delete(cluster, where, name=topic[0], count_ids=count_ids, even_unread=even_unread)


def _ids(cluster: Cluster, pids: Sequence[int]) -> int | None:
    """Count all ids, on heaps or by asking leaders; None where brokers are too old to be asked."""
    try:
        return on_heaps(pids) if pids else held(cluster, (), 0).total
    except CouldNotBeHad:
        return None


def _named(topic: Sequence[str], what: str) -> None:
    if not topic:
        raise Refused(
            f"Which topic is to be {what}? Name it: --topic NAME. Which one holds the ids: leadsman diagnose CAPTURE"
        )


PID = click.Option(
    ["--pid"],
    type=int,
    multiple=True,
    help="A broker's process on this host: its heap is counted before and after. Before 2.8 there is no other census.",
)
EVEN_UNREAD = click.Option(["--even-unread"], is_flag=True, help="Also where a consumer group has not read it all.")

REMEDIES = {
    "producer_id_leak": Remedy(
        title="Free brokers of the ids of producers that are gone, by what their version can do",
        help=(
            "Free brokers of producer ids. Since 3.4 the expiry of ids is lowered on each broker, until those are gone "
            "that were silent for longer, and put back. Before 2.4 the topics that you name are trimmed. In between "
            "only a restart or deleting the topic helps. Mend the producers first: this does not end the leak."
        ),
        parameters=(
            *options(),
            click.Option(
                ["--by"],
                type=click.Choice([BY_VERSION, EXPIRY, TRIM, DELETE]),
                default=BY_VERSION,
                show_default=True,
                help="How; by default as the brokers' version allows.",
            ),
            click.Option(["--topic"], multiple=True, metavar="NAME", help="Of which topics; expiry concerns all."),
            click.Option(
                ["--expire-after"],
                type=Span(),
                default="10m",
                show_default=True,
                help="Ids silent for longer are forgotten. Keep it above the producers' delivery.timeout.ms (2 min).",
            ),
            click.Option(
                ["--within"],
                type=Span(),
                default="25m",
                show_default=True,
                help="Watch for so long. Brokers look every producer.id.expiration.check.interval.ms (10 min).",
            ),
            PID,
            EVEN_UNREAD,
        ),
        plan=by_version,
        part="collect",
        examples=(
            "leadsman remedy producer_id_leak --bootstrap broker-1:9092",
            "leadsman remedy producer_id_leak --bootstrap broker-1:9092 --expire-after 5m --do",
            "leadsman remedy producer_id_leak --bootstrap broker-1:9092 --by delete-topic --topic orders --do",
        ),
    ),
    "trim": Remedy(
        title="Delete the records of topics, with what would go and who has not read it",
        help=(
            "Trim topics up to their present ends. On brokers before 2.4 the producer ids go with the records; on "
            "newer ones it frees none, and is refused. Shows what would go of each partition, and who did not read it."
        ),
        parameters=(click.Argument(["topic"], nargs=-1, required=True), *options(), PID, EVEN_UNREAD),
        plan=trim,
        part="collect",
        examples=(
            "leadsman remedy trim orders --bootstrap broker-1:9092",
            "leadsman remedy trim orders --bootstrap broker-1:9092 --pid 4711 --do",
        ),
    ),
}
