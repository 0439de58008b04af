"""Deploys the application on this machine: broker, simulated banks, receiver, workers. Removes all of it at the end."""

from __future__ import annotations

import pathlib
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import httpx
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from account_linking import receiver
from account_linking.demo.emulator.environment import LambdaFunction
from account_linking.demo.emulator.event_source_mapping import EventSourceMapping, wait_until
from account_linking.demo.incident import TOPIC_SETTING
from account_linking.demo.simulator import fdx, plaid, yodlee
from account_linking.demo.simulator.server import app, serve
from account_linking.providers import every_provider
from account_linking.providers.model import LinkedItem
from account_linking.requester.publishing import HOP_SETTING
from account_linking.store import SqliteStore
from account_linking.topics import FETCH_TASKS, WEBHOOKS, all_topics
from leadsman.lab.brokers.cluster import ADDRESS, Cluster, ClusterPlan
from leadsman.lab.network.forwarder import Forwarder, PathBehaviour
from leadsman.lab.processes.ports import free_ports

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from account_linking.demo.simulator.banks import SimulatedBanks

SECRET = "the-demo-keeps-no-secrets-at-all"  # noqa: S105 - a public value for the demo
"""The secret in the URL's path of unsigned webhooks."""

WINDOW_MARGIN_SECONDS = 0.001
"""Added to the end of a window: Yodlee's windows exclude their end, and the last change must be included."""

PARTITIONS = 3
"""Partitions of the topic `webhook.element`: the number of requesters that run at a time."""

PATH_IDLE_LIMIT_SECONDS = 4.0
"""Idle limit of the path to the broker. It stands for the 350 s of an AWS NAT gateway, or the broker's 600 s."""

COMPARED = "compared"
COMPARED_TOPIC = "demo.compared"

HANDLE_TIMEOUT_SECONDS = 240.0
TIME_LIMIT_SECONDS = 15.0


class ComponentStopped(Exception):
    """A broker or a poller has ended, and nothing restarts it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentOptions:
    """Options of a deployment."""

    requester: str = "account_linking.requester.handler.handler"
    compared_requester: str = ""
    """A second worker, which runs the same fetch tasks for comparison. Its records go to the topic COMPARED_TOPIC."""
    partitions: int = PARTITIONS
    max_attempts: int = 20
    variables: dict[str, str] = field(default_factory=dict)
    drops_idle_connections: bool = False
    """Workers reach the broker through a proxy that drops idle connections and keeps back the broker's FIN."""


@dataclass(slots=True, kw_only=True)
class Deployment:
    """A running deployment."""

    banks: SimulatedBanks
    signer: plaid.Signer
    bootstrap: str
    receiver_url: str
    simulator_url: str
    store: SqliteStore
    folder: pathlib.Path
    mappings: tuple[EventSourceMapping, EventSourceMapping]
    brokers: Cluster
    compared: EventSourceMapping | None = None
    sent: dict[str, int] = field(default_factory=dict)

    def send_webhooks(self, items: Iterable[str], *, since: float) -> None:
        """Send the webhooks for changes of these items since a time of the ledger."""
        announced = [self.banks.ledger.items[item] for item in sorted(set(items))]
        for item in announced:
            if item.provider == "plaid":
                body = plaid.webhook(item.id)
                self.post_webhook("plaid", body, headers={"Plaid-Verification": self.signer.sign(body)})
            elif item.provider == "fdx":
                self.post_webhook(f"fdx/{SECRET}", fdx.webhook(item.id))
        users = [item.id for item in announced if item.provider == "yodlee"]
        if users:
            self.post_webhook(
                f"yodlee/{SECRET}", yodlee.webhook(users, since=since, until=self.banks.now + WINDOW_MARGIN_SECONDS)
            )

    def post_webhook(self, path: str, body: bytes, *, headers: dict[str, str] | None = None) -> None:
        """Send one webhook; raise unless the receiver stored it."""
        response = httpx.post(f"{self.receiver_url}/webhooks/{path}", content=body, headers=headers, timeout=20)
        if response.is_server_error:
            self.check_components()
        response.raise_for_status()
        name = path.partition("/")[0]
        self.sent[name] = self.sent.get(name, 0) + 1

    def wait_until_handled(self) -> None:
        """Wait until all webhooks are fanned out and all fetch tasks are done."""
        for mapping in self.mappings:
            wait_until(
                partial(self._is_drained, mapping),
                within_seconds=HANDLE_TIMEOUT_SECONDS,
                what=f"the function {mapping.function.name} to handle all records of {mapping.topic}",
            )

    def _is_drained(self, mapping: EventSourceMapping) -> bool:
        self.check_components()
        return mapping.is_drained()

    def check_components(self) -> None:
        """Raise ComponentStopped if a broker or the poller of a topic has ended."""
        for broker in self.brokers.brokers:
            if not broker.is_running:
                raise ComponentStopped(
                    f"Broker {broker.id} has ended: it was killed, or the machine ran out of memory."
                )
        for mapping in (*self.mappings, *filter(None, [self.compared])):
            if mapping.poller_error:
                raise ComponentStopped(
                    f"The poller of {mapping.topic} has ended: {mapping.poller_error}"
                ) from mapping.poller_error


@contextmanager
def deploy(
    banks: SimulatedBanks, options: DeploymentOptions = DeploymentOptions(), *, cluster: Cluster | None = None
) -> Iterator[Deployment]:
    """Yield a running deployment, with a broker of its own unless a cluster is given."""
    with ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="account-linking-")))
        brokers, bootstrap, path_settings = _brokers(stack, options, cluster)
        create_topics(brokers.bootstrap, options.partitions)
        if options.compared_requester:
            brokers.create_topic(COMPARED_TOPIC)
        signer = plaid.Signer()
        simulator_port, receiver_port = free_ports(2)
        simulator_url = stack.enter_context(serve(app(banks, signer), simulator_port))
        store = SqliteStore(folder / "items.sqlite")
        settings = {
            **_settings(brokers.bootstrap, simulator_url),
            **path_settings,
            "ACCOUNT_LINKING_STORE": store.path,
        }
        receiver_url = stack.enter_context(serve(receiver.app(settings), receiver_port))
        store.add(linked_items(banks))
        variables = {**settings, "KAFKA_BOOTSTRAP": bootstrap, **options.variables}
        mappings = tuple(stack.enter_context(each) for each in _mappings(brokers.bootstrap, folder, variables, options))
        compared = None
        if options.compared_requester:
            other_store = SqliteStore(folder / "compared.sqlite")
            other_store.add(linked_items(banks))
            variables |= {"ACCOUNT_LINKING_STORE": other_store.path, TOPIC_SETTING: COMPARED_TOPIC}
            compared = stack.enter_context(_compared(brokers.bootstrap, folder, variables, options))
        yield Deployment(
            banks=banks,
            signer=signer,
            bootstrap=brokers.bootstrap,
            receiver_url=receiver_url,
            simulator_url=simulator_url,
            store=store,
            folder=folder,
            mappings=(mappings[0], mappings[1]),
            brokers=brokers,
            compared=compared,
        )


def _brokers(
    stack: ExitStack, options: DeploymentOptions, cluster: Cluster | None
) -> tuple[Cluster, str, dict[str, str]]:
    """Return the brokers, the workers' bootstrap servers, and the setting of the path's idle limit for all clients."""
    if not options.drops_idle_connections:
        brokers = cluster or stack.enter_context(Cluster(ClusterPlan()))
        return brokers, brokers.bootstrap, {}
    forwarder = stack.enter_context(Forwarder(PathBehaviour.HALF_OPEN))
    idle = {"connections.max.idle.ms": str(int(PATH_IDLE_LIMIT_SECONDS * 1000))}
    brokers = stack.enter_context(Cluster(ClusterPlan(settings=idle, proxy_ports={1: forwarder.port})))
    forwarder.target = (ADDRESS, brokers.brokers[0].ports["PROXY"])
    return brokers, f"{ADDRESS}:{forwarder.port}", {HOP_SETTING: str(PATH_IDLE_LIMIT_SECONDS)}


def create_topics(bootstrap: str, partitions: int) -> None:
    """Create the topics that do not exist yet."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    existing = admin.list_topics(timeout=30).topics
    missing = [name for name in all_topics(tuple(every_provider())) if name not in existing]
    if not missing:
        return
    created = admin.create_topics([NewTopic(name, partitions if name == FETCH_TASKS else 1, 1) for name in missing])
    for future in created.values():
        future.result(timeout=60)


def linked_items(banks: SimulatedBanks) -> list[LinkedItem]:
    """Return the simulated banks' items as the application's linked items."""
    return [
        LinkedItem(provider=item.provider, item=item.id, user=item.user, token=f"access-{item.id}")
        for item in banks.ledger.items.values()
    ]


def _settings(bootstrap: str, simulator_url: str) -> dict[str, str]:
    return {
        "KAFKA_BOOTSTRAP": bootstrap,
        "PLAID_URL": f"{simulator_url}/plaid",
        "PLAID_CLIENT_ID": "demo",
        "PLAID_SECRET": "demo",
        **{
            name: value
            for provider in ("YODLEE", "FDX")
            for name, value in {
                f"{provider}_URL": f"{simulator_url}/{provider.lower()}",
                f"{provider}_WEBHOOK_SECRET": SECRET,
                f"{provider}_WEBHOOK_SOURCES": "127.0.0.0/8",
            }.items()
        },
    }


def _function(name: str, handler: str, folder: pathlib.Path, variables: dict[str, str]) -> LambdaFunction:
    return LambdaFunction(
        name=name,
        handler=handler,
        logs=folder / "logs" / name,
        time_limit_seconds=TIME_LIMIT_SECONDS,
        variables={**variables, "ACCOUNT_LINKING_TIME_LIMIT_SECONDS": str(TIME_LIMIT_SECONDS)},
    )


def _mappings(
    bootstrap: str, folder: pathlib.Path, variables: dict[str, str], options: DeploymentOptions
) -> list[EventSourceMapping]:
    return [
        EventSourceMapping(
            bootstrap=bootstrap,
            topic=WEBHOOKS,
            function=_function("fanout", "account_linking.fanout.handler", folder, variables),
            partitions=1,
            batch_size=100,
            max_attempts=options.max_attempts,
        ),
        _requesters(bootstrap, _function("requester", options.requester, folder, variables), options),
    ]


def _compared(
    bootstrap: str, folder: pathlib.Path, variables: dict[str, str], options: DeploymentOptions
) -> EventSourceMapping:
    return _requesters(bootstrap, _function(COMPARED, options.compared_requester, folder, variables), options)


def _requesters(bootstrap: str, function: LambdaFunction, options: DeploymentOptions) -> EventSourceMapping:
    return EventSourceMapping(
        bootstrap=bootstrap,
        topic=FETCH_TASKS,
        function=function,
        partitions=options.partitions,
        max_attempts=options.max_attempts,
    )
