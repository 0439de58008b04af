"""A Kafka cluster through its admin API: brokers, topics, configurations, groups, producer ids, log directories."""

from __future__ import annotations

import re
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import click

from leadsman.collect.collector import Collector, Probe
from leadsman.collect.kafka import cluster, groups, topics
from leadsman.collect.kafka.opening import address, opened, options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from leadsman.collect.kafka.connection import Cluster

PRODUCERS = "kafka/producers.txt"
EACH_PARTITION = """awk '{for (i = 1; i < NF; i++) if ($i == "Partition:") print $(i - 1), $(i + 1)}'"""


@contextmanager
def probes(
    *, bootstrap: str, command_config: Path | None, topic: tuple[str, ...], tool_suffix: str
) -> Iterator[Iterable[Probe]]:
    """Yield what is asked of the cluster; the connection is made by the first of them and closed here."""
    where = address(bootstrap, command_config, tool_suffix)
    with opened(where) as asked:
        yield _probes(asked, where.tool, topic)


def _probes(asked: Cluster, tool: Callable[..., str], wanted: tuple[str, ...]) -> Iterator[Probe]:
    """Yield the questions, the cheapest and most telling first."""
    yield Probe(
        file="kafka/brokers.txt",
        source="brokers",
        typed=tool("kafka-broker-api-versions"),
        take=lambda: cluster.brokers(asked),
    )
    yield Probe(
        file="kafka/quorum.txt",
        source="quorum",
        typed=tool("kafka-metadata-quorum", "describe", "--status"),
        take=lambda: cluster.quorum(asked),
    )
    yield Probe(
        file="kafka/topics.txt",
        source="topics",
        typed=_topics(tool, wanted),
        take=lambda: topics.topics(asked, wanted),
    )
    yield Probe(
        file="kafka/broker-configs.txt",
        source="broker_configs",
        typed=tool("kafka-configs", "--describe", "--all", "--entity-type", "brokers"),
        take=lambda: cluster.broker_configs(asked),
    )
    yield Probe(
        file="kafka/group-states.txt",
        source="group_states",
        typed=tool("kafka-consumer-groups", "--describe", "--all-groups", "--state"),
        take=lambda: groups.states(asked),
    )
    yield Probe(
        file="kafka/groups.txt",
        source="groups",
        typed=tool("kafka-consumer-groups", "--describe", "--all-groups"),
        take=lambda: groups.lags(asked),
    )
    yield Probe(
        file="kafka/log-dirs.txt",
        source="log_dirs",
        typed=tool("kafka-log-dirs", "--describe"),
        take=lambda: cluster.log_dirs(asked),
    )
    yield _producers(asked, tool, wanted)


def _topics(tool: Callable[..., str], wanted: tuple[str, ...]) -> str:
    only = ("--topic", "|".join(map(re.escape, wanted))) if wanted else ()  # the tool takes a pattern
    return tool("kafka-topics", "--describe", *only)


def _producers(asked: Cluster, tool: Callable[..., str], wanted: tuple[str, ...]) -> Probe:
    def of(topic: str, number: str, leader: int = topics.NO_LEADER) -> str:
        asked_of = f" --broker-id {leader}" if leader >= 0 else ""
        return tool("kafka-transactions", "describe-producers") + f" --topic {topic} --partition {number}{asked_of}"

    def each() -> Iterator[Probe]:
        for (topic, number), leader, table in topics.producers(asked, wanted):
            typed = of(topic, str(number), leader)
            yield Probe(file=PRODUCERS, source="producers", typed=typed, take=partial(iter, table))

    return Probe(
        file=PRODUCERS,
        source="producers",
        typed=of("$topic", "$partition"),
        each=each,
        listing=("topic partition", f"{_topics(tool, wanted)} | {EACH_PARTITION}"),
    )


COLLECTOR = Collector(
    title="A Kafka cluster: brokers, topics, settings, groups, producer ids, log directories",
    help=(
        "Ask a cluster through its admin API: brokers and controllers, topics with leaders and ISR, settings with "
        "their sources, groups and their lag, producer ids by partition (DescribeProducers, brokers since 2.8) and "
        "log directories. One question at a time, in batches of bounded size."
    ),
    parameters=(
        *options(),
        click.Option(["--topic"], multiple=True, metavar="NAME", help="Only this topic; may be repeated."),
        click.Option(
            ["--tool-suffix"],
            default=".sh",
            show_default=True,
            help="For --print-commands: how the names of Kafka's tools end; empty with Confluent's packages.",
        ),
    ),
    probes=probes,
    part="collect",
    examples=(
        "leadsman collect kafka --bootstrap broker-1:9092 --out incident",
        "leadsman collect kafka --bootstrap broker-1:9093 --command-config client.properties",
        "leadsman collect kafka --bootstrap broker-1:9092 --topic orders --repeat 1m --for 1h",
    ),
)
