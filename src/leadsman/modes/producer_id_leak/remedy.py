"""Frees brokers of too many producer ids, by the methods that their version supports.

Trimming frees ids only before 2.4, a lower expiry without a restart only since 3.4; see `broker_versions.py`.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import click

from leadsman.collect.collector import NotCollected
from leadsman.collect.durations import DurationParam
from leadsman.collect.kafka.cluster_address import cluster_address, cluster_options, open_cluster
from leadsman.modes.producer_id_leak import expiry_remedy, trim_remedy
from leadsman.modes.producer_id_leak.broker_versions import version_range
from leadsman.modes.producer_id_leak.census import count_on_heaps, oldest_version, producer_id_census
from leadsman.remedies.remedy import Refused, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import timedelta
    from pathlib import Path

    from leadsman.collect.kafka.cluster_address import ClusterAddress
    from leadsman.collect.kafka.connection import ClusterAdmin
    from leadsman.remedies.remedy import RemedyPlan

EXPIRY, TRIM, DELETE, BY_VERSION = "expiry", "trim", "delete-topic", "version"


@contextmanager
def by_version(
    *,
    bootstrap: str,
    command_config: Path | None,
    by: str,
    topic: tuple[str, ...],
    expire_after: timedelta,
    timeout: timedelta,
    pid: tuple[int, ...],
    even_unread: bool,
) -> Iterator[RemedyPlan]:
    """Yield the plan that suits the oldest broker of the cluster, or the requested plan."""
    where = cluster_address(bootstrap, command_config)
    with open_cluster(where) as cluster:
        method = _cheapest(cluster) if by == BY_VERSION else by
        if method == EXPIRY:
            yield _expiry(cluster, where, topic, after=expire_after, timeout=timeout)
        elif method == TRIM:
            yield _trim(cluster, where, topic, pids=pid, even_unread=even_unread)
        else:
            yield _delete(cluster, where, topic, pids=pid, even_unread=even_unread)


@contextmanager
def trim(
    *, bootstrap: str, command_config: Path | None, topic: tuple[str, ...], pid: tuple[int, ...], even_unread: bool
) -> Iterator[RemedyPlan]:
    """Yield the plan to trim these topics."""
    where = cluster_address(bootstrap, command_config)
    with open_cluster(where) as cluster:
        yield _trim(cluster, where, topic, pids=pid, even_unread=even_unread)


def _cheapest(cluster: ClusterAdmin) -> str:
    """Return the cheapest method that frees ids on these brokers; Refused where only a restart does."""
    if expiry_remedy.settings(cluster):
        return EXPIRY
    version = ".".join(map(str, oldest_version(cluster)))
    if version_range(version).trim_frees:
        return TRIM
    raise Refused(
        f"These brokers ({version} by their API versions) free ids neither by trimming nor by a dynamic setting. "
        "Either set transactional.id.expiration.ms in server.properties, for example to 86400000, and "
        "restart the brokers one by one; or delete the topic: --by delete-topic --topic NAME"
    )


def _expiry(
    cluster: ClusterAdmin, where: ClusterAddress, topic: Sequence[str], *, after: timedelta, timeout: timedelta
) -> RemedyPlan:
    if not expiry_remedy.settings(cluster):
        raise Refused(f"These brokers do not have {expiry_remedy.KEY}: Kafka 3.4 introduced it.")
    return expiry_remedy.plan(cluster, where, topics=topic, after=after, timeout=timeout)


def _trim(
    cluster: ClusterAdmin, where: ClusterAddress, topic: Sequence[str], *, pids: Sequence[int], even_unread: bool
) -> RemedyPlan:
    _require_topic(topic, "trimmed")
    version = ".".join(map(str, oldest_version(cluster)))
    if not version_range(version).trim_frees:
        raise Refused(
            f"Since Kafka 2.4 trimming frees no id, and these brokers are newer ({version} by their API versions): the "
            "data would be lost without effect. To free ids, run: leadsman remedy producer_id_leak"
        )
    for name in topic:
        if "delete" not in (policy := trim_remedy.cleanup_policy(cluster, name)):
            raise Refused(
                f"{name} is compacted (cleanup.policy={policy}): brokers do not delete its records on request."
            )
    return trim_remedy.trim(cluster, where, names=topic, pids=pids, even_unread=even_unread)


def _delete(
    cluster: ClusterAdmin, where: ClusterAddress, topic: Sequence[str], *, pids: Sequence[int], even_unread: bool
) -> RemedyPlan:
    _require_topic(topic, "deleted")
    if len(topic) > 1:
        raise Refused("Only one topic can be deleted at a time: name one with --topic.")

    count_ids = partial(_count_ids, cluster, pids)
    return trim_remedy.delete(cluster, where, name=topic[0], count_ids=count_ids, even_unread=even_unread)


def _count_ids(cluster: ClusterAdmin, pids: Sequence[int]) -> int | None:
    """Count all ids, in heaps or by requests to leaders; None where brokers are too old for these requests."""
    try:
        return count_on_heaps(pids) if pids else producer_id_census(cluster, (), 0).total
    except NotCollected:
        return None


def _require_topic(topic: Sequence[str], action: str) -> None:
    if not topic:
        raise Refused(
            f"Name the topic to be {action}: --topic NAME. To see which topic has the ids: leadsman diagnose CAPTURE"
        )


PID = click.Option(
    ["--pid"],
    type=int,
    multiple=True,
    help="A broker's process id on this host: the ids in its heap are counted before and after; needed before 2.8.",
)
EVEN_UNREAD = click.Option(["--even-unread"], is_flag=True, help="Delete records that consumer groups have not read.")

REMEDIES = {
    "producer_id_leak": Remedy(
        title="Free brokers of the ids of closed producers",
        help=(
            "Free brokers of producer ids. Since 3.4 the expiry of ids is lowered on each broker until the idle ids "
            "have expired, and then restored. Before 2.4 the named topics are trimmed. From 2.4 to 3.3 only a restart "
            "or deleting the topic helps. Fix the producers first: this remedy does not end the leak."
        ),
        parameters=(
            *cluster_options(),
            click.Option(
                ["--by"],
                type=click.Choice([BY_VERSION, EXPIRY, TRIM, DELETE]),
                default=BY_VERSION,
                show_default=True,
                help="The method; by default the one that the brokers' version allows.",
            ),
            click.Option(
                ["--topic"], multiple=True, metavar="NAME", help="The topics; a lower expiry affects all topics."
            ),
            click.Option(
                ["--expire-after"],
                type=DurationParam(),
                default="10m",
                show_default=True,
                help="Ids idle for longer expire. Keep this above the producers' delivery.timeout.ms (2 min).",
            ),
            click.Option(
                ["--timeout"],
                type=DurationParam(),
                default="25m",
                show_default=True,
                help="Watch for this long. Brokers check every producer.id.expiration.check.interval.ms (10 min).",
            ),
            PID,
            EVEN_UNREAD,
        ),
        plan=by_version,
        extra="collect",
        examples=(
            "leadsman remedy producer_id_leak --bootstrap broker-1:9092",
            "leadsman remedy producer_id_leak --bootstrap broker-1:9092 --expire-after 5m --do",
            "leadsman remedy producer_id_leak --bootstrap broker-1:9092 --by delete-topic --topic orders --do",
        ),
    ),
    "trim": Remedy(
        title="Delete the records of topics, unread ones listed first",
        help=(
            "Trim topics up to their present ends. On brokers before 2.4 this frees the producer ids; on newer brokers "
            "it frees none and is refused. Shows the records of each partition, and the groups that have not read them."
        ),
        parameters=(click.Argument(["topic"], nargs=-1, required=True), *cluster_options(), PID, EVEN_UNREAD),
        plan=trim,
        extra="collect",
        examples=(
            "leadsman remedy trim orders --bootstrap broker-1:9092",
            "leadsman remedy trim orders --bootstrap broker-1:9092 --pid 4711 --do",
        ),
    ),
}
