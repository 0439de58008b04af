"""Puts the whole application on this machine: broker, banks, receiver, workers. Everything is gone afterwards."""

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
from account_linking.demo.emulator.environment import Function
from account_linking.demo.emulator.mapping import Mapping, wait_until
from account_linking.demo.simulator import fdx, plaid, yodlee
from account_linking.demo.simulator.server import app, served
from account_linking.names import ELEMENTS, WEBHOOKS, all_topics
from account_linking.providers import every_provider
from account_linking.providers.model import Link
from account_linking.requester.publishing import HOP_SETTING
from account_linking.store import SqliteStore
from leadsman.lab.cluster import ADDRESS, Cluster, Plan
from leadsman.lab.network import Forwarder, Path
from leadsman.lab.ports import free_ports

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from account_linking.demo.simulator.world import World

SECRET = "the-demo-keeps-no-secrets-at-all"  # noqa: S105 - it says so itself
"""In the paths of webhooks that nobody signs."""

JUST_AFTER = 0.001
"""A window ends before its last moment; what happened at this moment is to be in it."""

PARTITIONS = 3
"""Of the topic of elements: as many requesters work at a time."""

PATH_SECONDS = 4.0
"""How long the forgetful path keeps a quiet connection: stands for the 350 s of AWS, or the 600 s of a broker."""

HANDLED_WITHIN_SECONDS = 240.0
TIME_LIMIT_SECONDS = 15.0


class StageBroken(Exception):
    """A part of the stage is gone that nobody brings back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What a stage is to be like. `bootstrap` stands before the brokers where workers reach them by another path."""

    requester: str = "account_linking.requester.handler.handler"
    partitions: int = PARTITIONS
    tries: int = 20
    variables: dict[str, str] = field(default_factory=dict)
    forgetful_path: bool = False
    """The workers' way to the broker is through a hop that drops quiet connections, and loses the news of it."""


@dataclass(slots=True, kw_only=True)
class Stage:
    """What runs."""

    world: World
    signer: plaid.Signer
    bootstrap: str
    receiver: str
    simulator: str
    store: SqliteStore
    folder: pathlib.Path
    mappings: tuple[Mapping, Mapping]
    brokers: Cluster
    sent: dict[str, int] = field(default_factory=dict)

    def announce(self, items: Iterable[str], *, since: float) -> None:
        """Send the webhooks that say that something is new of these items since a moment of the ledger."""
        wanted = [self.world.ledger.items[item] for item in sorted(set(items))]
        for item in wanted:
            if item.provider == "plaid":
                body = plaid.webhook(item.id)
                self.post("plaid", body, headers={"Plaid-Verification": self.signer.sign(body)})
            elif item.provider == "fdx":
                self.post(f"fdx/{SECRET}", fdx.webhook(item.id))
        users = [item.id for item in wanted if item.provider == "yodlee"]
        if users:
            self.post(f"yodlee/{SECRET}", yodlee.webhook(users, since=since, until=self.world.now + JUST_AFTER))

    def post(self, path: str, body: bytes, *, headers: dict[str, str] | None = None) -> None:
        """Send one webhook, which is to be stored."""
        answer = httpx.post(f"{self.receiver}/webhooks/{path}", content=body, headers=headers, timeout=20)
        if answer.is_server_error:
            self.check()
        answer.raise_for_status()
        name = path.partition("/")[0]
        self.sent[name] = self.sent.get(name, 0) + 1

    def handled(self) -> None:
        """Wait until every webhook was fanned out and every element fetched."""
        for mapping in self.mappings:
            wait_until(
                partial(self._idle, mapping), within_seconds=HANDLED_WITHIN_SECONDS, what=f"the end of {mapping.topic}"
            )

    def _idle(self, mapping: Mapping) -> bool:
        self.check()
        return mapping.idle()

    def check(self) -> None:
        """Raise StageBroken if a broker or the poller of a topic has ended."""
        for broker in self.brokers.brokers:
            if not broker.running:
                raise StageBroken(
                    f"Broker {broker.id} has ended; somebody killed it, or the machine ran out of memory."
                )
        for mapping in self.mappings:
            if mapping.broken:
                raise StageBroken(f"{mapping.topic} is no longer polled: {mapping.broken}") from mapping.broken


@contextmanager
def stage(world: World, choice: Choice = Choice(), *, cluster: Cluster | None = None) -> Iterator[Stage]:
    """Yield a running stage, on a broker of its own unless one is given."""
    with ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="account-linking-")))
        brokers, bootstrap, shorter = _brokers(stack, choice, cluster)
        create_topics(brokers.bootstrap, choice.partitions)
        signer = plaid.Signer()
        simulator_port, receiver_port = free_ports(2)
        simulator = stack.enter_context(served(app(world, signer), simulator_port))
        settings = {**_settings(brokers.bootstrap, simulator), **shorter}
        receiving = stack.enter_context(served(receiver.app(settings), receiver_port))
        store = SqliteStore(folder / "items.sqlite")
        store.add(links(world))
        variables = {**settings, "KAFKA_BOOTSTRAP": bootstrap, "ACCOUNT_LINKING_STORE": store.path, **choice.variables}
        mappings = tuple(stack.enter_context(each) for each in _mappings(brokers.bootstrap, folder, variables, choice))
        yield Stage(
            world=world,
            signer=signer,
            bootstrap=brokers.bootstrap,
            receiver=receiving,
            simulator=simulator,
            store=store,
            folder=folder,
            mappings=(mappings[0], mappings[1]),
            brokers=brokers,
        )


def _brokers(stack: ExitStack, choice: Choice, cluster: Cluster | None) -> tuple[Cluster, str, dict[str, str]]:
    """Return brokers, how workers reach them, and what every client is told of the path's idle limit."""
    if not choice.forgetful_path:
        brokers = cluster or stack.enter_context(Cluster(Plan()))
        return brokers, brokers.bootstrap, {}
    forwarder = stack.enter_context(Forwarder(Path.HALF_OPEN))
    idle = {"connections.max.idle.ms": str(int(PATH_SECONDS * 1000))}
    brokers = stack.enter_context(Cluster(Plan(settings=idle, through={1: forwarder.port})))
    forwarder.target = (ADDRESS, brokers.brokers[0].ports["PROXY"])
    return brokers, f"{ADDRESS}:{forwarder.port}", {HOP_SETTING: str(PATH_SECONDS)}


def create_topics(bootstrap: str, partitions: int) -> None:
    """Create every topic that is not there yet."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    there = admin.list_topics(timeout=30).topics
    wanted = [name for name in all_topics(tuple(every_provider())) if name not in there]
    made = admin.create_topics([NewTopic(name, partitions if name == ELEMENTS else 1, 1) for name in wanted])
    for future in made.values():
        future.result(timeout=60)


def links(world: World) -> list[Link]:
    """Return what the application knows of the world's items."""
    return [
        Link(provider=item.provider, item=item.id, user=item.user, token=f"access-{item.id}")
        for item in world.ledger.items.values()
    ]


def _settings(bootstrap: str, simulator: str) -> dict[str, str]:
    return {
        "KAFKA_BOOTSTRAP": bootstrap,
        "PLAID_URL": f"{simulator}/plaid",
        "PLAID_CLIENT_ID": "demo",
        "PLAID_SECRET": "demo",
        **{
            name: value
            for provider in ("YODLEE", "FDX")
            for name, value in {
                f"{provider}_URL": f"{simulator}/{provider.lower()}",
                f"{provider}_WEBHOOK_SECRET": SECRET,
                f"{provider}_WEBHOOK_SOURCES": "127.0.0.0/8",
            }.items()
        },
    }


def _mappings(bootstrap: str, folder: pathlib.Path, variables: dict[str, str], choice: Choice) -> list[Mapping]:
    limit = {"ACCOUNT_LINKING_TIME_LIMIT_SECONDS": str(TIME_LIMIT_SECONDS)}

    def function(name: str, handler: str) -> Function:
        return Function(
            name=name,
            handler=handler,
            logs=folder / "logs" / name,
            time_limit_seconds=TIME_LIMIT_SECONDS,
            variables={**variables, **limit},
        )

    fanout = function("fanout", "account_linking.fanout.handler")
    requester = function("requester", choice.requester)
    return [
        Mapping(bootstrap=bootstrap, topic=WEBHOOKS, function=fanout, partitions=1, batch=100, tries=choice.tries),
        Mapping(
            bootstrap=bootstrap, topic=ELEMENTS, function=requester, partitions=choice.partitions, tries=choice.tries
        ),
    ]
