"""A Kafka cluster through its admin API: brokers, topics, configurations, groups, producer ids, log directories."""

from __future__ import annotations

import re
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import click

from leadsman.collect.collector import Collector, ItemListing, Probe
from leadsman.collect.kafka import cluster, groups, topics
from leadsman.collect.kafka.cluster_address import cluster_address, cluster_options, open_cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from leadsman.collect.kafka.connection import ClusterAdmin

PRODUCERS = "kafka/producers.txt"
EACH_PARTITION = """awk '{for (i = 1; i < NF; i++) if ($i == "Partition:") print $(i - 1), $(i + 1)}'"""


@contextmanager
def probes(
    *, bootstrap: str, command_config: Path | None, topic: tuple[str, ...], tool_suffix: str
) -> Iterator[Iterable[Probe]]:
    """Yield the probes of the cluster. The first probe opens the connection; it is closed here."""
    address = cluster_address(bootstrap, command_config, tool_suffix)
    with open_cluster(address) as connection:
        yield _probes(connection, address.tool, topic)


def _probes(connection: ClusterAdmin, tool: Callable[..., str], topic_filter: tuple[str, ...]) -> Iterator[Probe]:
    """Yield the probes, the cheapest and most useful first."""
    yield Probe(
        file="kafka/brokers.txt",
        source="brokers",
        shell_command=tool("kafka-broker-api-versions"),
        read=lambda: cluster.broker_lines(connection),
    )
    yield Probe(
        file="kafka/quorum.txt",
        source="quorum",
        shell_command=tool("kafka-metadata-quorum", "describe", "--status"),
        read=lambda: cluster.quorum_lines(connection),
    )
    yield Probe(
        file="kafka/topics.txt",
        source="topics",
        shell_command=_topics(tool, topic_filter),
        read=lambda: topics.topic_lines(connection, topic_filter),
    )
    yield Probe(
        file="kafka/broker-configs.txt",
        source="broker_configs",
        shell_command=tool("kafka-configs", "--describe", "--all", "--entity-type", "brokers"),
        read=lambda: cluster.broker_config_lines(connection),
    )
    yield Probe(
        file="kafka/group-states.txt",
        source="group_states",
        shell_command=tool("kafka-consumer-groups", "--describe", "--all-groups", "--state"),
        read=lambda: groups.state_tables(connection),
    )
    yield Probe(
        file="kafka/groups.txt",
        source="groups",
        shell_command=tool("kafka-consumer-groups", "--describe", "--all-groups"),
        read=lambda: groups.lag_tables(connection),
    )
    yield Probe(
        file="kafka/log-dirs.txt",
        source="log_dirs",
        shell_command=tool("kafka-log-dirs", "--describe"),
        read=lambda: cluster.log_dir_lines(connection),
    )
    yield _producers(connection, tool, topic_filter)


def _topics(tool: Callable[..., str], topic_filter: tuple[str, ...]) -> str:
    only = ("--topic", "|".join(map(re.escape, topic_filter))) if topic_filter else ()  # the tool takes a pattern
    return tool("kafka-topics", "--describe", *only)


def _producers(connection: ClusterAdmin, tool: Callable[..., str], topic_filter: tuple[str, ...]) -> Probe:
    def command(topic: str, number: str, leader: int = topics.NO_LEADER) -> str:
        broker = f" --broker-id {leader}" if leader >= 0 else ""
        return tool("kafka-transactions", "describe-producers") + f" --topic {topic} --partition {number}{broker}"

    def expand() -> Iterator[Probe]:
        for (topic, number), leader, table in topics.producer_tables(connection, topic_filter):
            shell_command = command(topic, str(number), leader)
            yield Probe(file=PRODUCERS, source="producers", shell_command=shell_command, read=partial(iter, table))

    each = command("$topic", "$partition")
    return Probe(
        file=PRODUCERS,
        source="producers",
        shell_command=each,
        expand=expand,
        listing=ItemListing("topic partition", f"{_topics(tool, topic_filter)} | {EACH_PARTITION}", PRODUCERS, each),
    )


COLLECTOR = Collector(
    title="A Kafka cluster: brokers, topics, groups, producer ids",
    help=(
        "Collect through a cluster's admin API: brokers and controllers, topics with leaders and ISR, settings with "
        "their sources, groups and their lag, producer ids by partition (DescribeProducers, brokers since 2.8) and "
        "log directories. One request at a time, in batches of bounded size."
    ),
    parameters=(
        *cluster_options(),
        click.Option(["--topic"], multiple=True, metavar="NAME", help="Only this topic; may be repeated."),
        click.Option(
            ["--tool-suffix"],
            default=".sh",
            show_default=True,
            help="For --print-commands: how the names of Kafka's tools end; empty with Confluent's packages.",
        ),
    ),
    probes=probes,
    extra="collect",
    examples=(
        "leadsman collect kafka --bootstrap broker-1:9092 --out incident",
        "leadsman collect kafka --bootstrap broker-1:9093 --command-config client.properties",
        "leadsman collect kafka --bootstrap broker-1:9092 --topic orders --repeat 1m --for 1h",
    ),
)
