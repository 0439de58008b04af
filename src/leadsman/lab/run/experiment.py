"""What a failure mode asks of the lab: the scenario, and the variants of its experiment. Knows no mode."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leadsman.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from leadsman.lab.network.fabric import NetworkLayout
    from leadsman.lab.network.forwarder import PathBehaviour
    from leadsman.lab.run.run_context import RunContext
    from leadsman.lab.workload.services import Service
    from leadsman.model import Harm


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """The environment in which a mode's `broken` settings fail and its `healthy` settings do not.

    `broker_settings` hold for every broker; `stands_for` says of each setting with a short value which production value
    it stands for (3 s for 600 s), so that the capture can say so.
    """

    broker_count: int = 1
    broker_settings: Mapping[str, str] = field(default_factory=dict)
    near_misses: tuple[str, ...] = ()
    stands_for: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """The network between clients and brokers.

    `path` is how the forwarder before the broker treats a connection that the broker closed; None: no forwarder.
    `layout` gives brokers and workers network namespaces of their own.
    """

    path: PathBehaviour | None = None
    layout: NetworkLayout | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerOptions:
    """How brokers run. `settings` override the scenario's broker settings; `heap_mb` and `jvm_options` are the JVM's.

    `is_monitored`: brokers have a metrics agent and write a garbage collector log.
    """

    settings: Mapping[str, str] = field(default_factory=dict)
    heap_mb: int = 256
    jvm_options: tuple[str, ...] = ()
    is_monitored: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicOptions:
    """How the experiment's topic is created: its replication factor and its configuration."""

    replicas: int = 1
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The producing workers, by name, and their client settings in the names of Kafka's Java documentation.

    `settings` are those of services too. `settings_by_client` adds to them by client name. In a value, {worker} is the
    worker's name. `producers` is how many producers a worker keeps, by its name, if not one; `record`: a new producer
    for each record. `is_monitored`: workers expose metrics, where their client has any.
    """

    workers: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    settings_by_client: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    producers: Mapping[str, str] = field(default_factory=dict)
    is_monitored: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The services that process the topic, to which a source then sends at a steady rate.

    With `shares_process` all services run in one process and write one log.
    """

    members: tuple[Service, ...] = ()
    shares_process: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One way to run an experiment: broken, cured, or a near miss.

    `run` does what happens during the incident. `stands_for` is what the capture says about values that are scaled.
    `client` is the one client that the variant can run with; empty: any.
    """

    description: str
    run: Callable[[RunContext], None]
    workload: Workload = Workload()
    services: Services = Services()
    brokers: BrokerOptions = BrokerOptions()
    topic: TopicOptions = TopicOptions()
    topology: Topology = Topology()
    stands_for: Mapping[str, str] = field(default_factory=dict)
    client: str = ""


def no_other_harm(_: RunContext) -> Mapping[Harm, int]:
    """Return no harm beside that of the workers' records."""
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One mode's experiment: a scenario, and the variants by name. `broken` and `cured` are always among them.

    `recordings` are the captures kept in the mode's folder: variant and client, by folder name; a third word is the
    version of the brokers. `replica_assignment` lists the brokers of each of the topic's partitions, where that
    matters; otherwise the topic has `partitions` partitions. `oracle` measures harm that the workers' records do not
    show, when all programs have ended; the oracle reads no log and no file of the capture. `client` is the client that
    runs the experiment unless another is requested. `tolerated_harm` is harm that cured clients have too: while a
    partition has no leader, every client waits. `swept_services` names the services that a sweep gives its settings to;
    empty: all services.
    """

    mode: str
    scenario: Scenario
    variants: Mapping[str, Variant]
    recordings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    topic: str = "orders"
    replica_assignment: tuple[tuple[int, ...], ...] = ()
    oracle: Callable[[RunContext], Mapping[Harm, int]] = no_other_harm
    partitions: int = 1
    client: str = "confluent-kafka"
    tolerated_harm: frozenset[Harm] = frozenset()
    swept_services: tuple[str, ...] = ()

    def variant(self, name: str) -> Variant:
        """Return a variant by name; LabError names those that exist."""
        if name not in self.variants:
            raise LabError(f"{self.mode} has no variant {name}. It has: {', '.join(self.variants)}.")
        return self.variants[name]

    def client_for(self, variant: str, requested: str) -> str:
        """Return the client that runs a variant: the requested one, the variant's only one, or the experiment's."""
        required = self.variant(variant).client
        if required and requested and requested.partition("@")[0] != required:
            raise LabError(f"{variant} can be run with {required} alone, not with {requested}: leave --client out.")
        return requested or required or self.client
