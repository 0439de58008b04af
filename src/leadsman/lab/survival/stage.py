"""A cluster, a path to it, and six producing workers: three clients, plain and wrapped."""

from __future__ import annotations

import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.interrupt import undisturbed
from leadsman.lab import clients
from leadsman.lab.clients import Client, Worker
from leadsman.lab.cluster import ADDRESS, Cluster, Plan
from leadsman.lab.network import Forwarder
from leadsman.lab.programs.survivor import Wish

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

LIMIT_SECONDS = 3.0
"""Stands for a hop's idle limit: 600 s at a broker, 350 s on the way through AWS."""

PLAIN, WRAPPED = "plain", "wrapped"
CLIENTS = ("confluent-kafka", "kafka-python", "aiokafka")
WORKERS = tuple(f"{client}-{how}" for client in CLIENTS for how in (PLAIN, WRAPPED))

TOPIC = "orders"
USER = "orders"

WARM_UP_RECORDS = 3
"""The first pays for loading and connecting; then each client knows its partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What a fault is played in. `security`: clients log in with a password."""

    plan: Plan
    freezes: bool = False
    forks: bool = False
    assigned: tuple[tuple[int, ...], ...] = ()
    direct: bool = False
    """No forwarder: several brokers cannot stand behind one."""
    security: bool = False
    prepare: Callable[[Cluster, Path], None] = lambda _cluster, _folder: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A running world. `folder` is the workers'."""

    cluster: Cluster
    forwarder: Forwarder
    workers: Mapping[str, Worker]
    folder: Path

    def together(self, script: Callable[[Worker], object]) -> None:
        """Have each worker play the script, side by side; the first failure is raised in the end."""
        with ThreadPoolExecutor(len(self.workers)) as pool:
            playing = [pool.submit(script, worker) for worker in self.workers.values()]
        for played in playing:
            played.result()


def quiet(seconds: float) -> None:
    """Let nothing happen for so long: the wait is the experiment."""
    threading.Event().wait(seconds)


@contextmanager
def stage(world: World) -> Iterator[Stage]:
    """Start everything and have each worker deliver its first records."""
    with ExitStack() as stack:
        forwarder = stack.enter_context(Forwarder())
        through = {} if world.direct else {1: forwarder.port}
        cluster = stack.enter_context(Cluster(replace(world.plan, through=through)))
        if through:
            forwarder.target = (ADDRESS, cluster.brokers[0].ports["PROXY"])
        cluster.create_topic(TOPIC, assigned=world.assigned)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="leadsman-workers-")))
        world.prepare(cluster, folder)
        bootstrap = cluster.bootstrap if world.direct else f"{ADDRESS}:{forwarder.port}"
        workers: dict[str, Worker] = {}
        for name in WORKERS:
            with undisturbed():
                workers[name] = stack.enter_context(_start(name, world, bootstrap, folder))
        running = Stage(cluster=cluster, forwarder=forwarder, workers=workers, folder=folder)
        if not world.forks:
            running.together(_warm_up)
        yield running


def _warm_up(worker: Worker) -> None:
    for _ in range(WARM_UP_RECORDS):
        worker.send()
        worker.answer(first=True)


def _start(name: str, world: World, bootstrap: str, folder: Path) -> Worker:
    client, _, how = name.rpartition("-")
    wish = Wish(
        client=client,
        wrapped=how == WRAPPED,
        settings=_settings(client, world, bootstrap),
        hop_seconds=LIMIT_SECONDS,
        freezes=world.freezes,
        forks=world.forks,
        **_password(client, world, folder),
    )
    survivor = Client(
        name=name, version="", library=client, translate=_as_they_are, command=clients.python_command("survivor")
    )
    return Worker.start(name, survivor, topic=TOPIC, settings=asdict(wish), folder=folder)


def _as_they_are(settings: Mapping[str, str]) -> clients.Translated:
    return dict(settings), ()


def _settings(client: str, world: World, bootstrap: str) -> Mapping[str, object]:
    """Return each client's defaults but for the address, and the security that the world wants."""
    dotted = {"bootstrap.servers": bootstrap}
    if world.security:
        dotted |= {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-256"}
    if client == "confluent-kafka":
        return dotted | ({"sasl.username": USER} if world.security else {})
    named: dict[str, object] = {name.replace(".", "_"): value for name, value in dotted.items()}
    return named | ({"sasl_plain_username": USER} if world.security else {})


def _password(client: str, world: World, folder: Path) -> dict[str, str]:
    if not world.security:
        return {}
    name = "sasl.password" if client == "confluent-kafka" else "sasl_plain_password"
    return {"password": name, "password_file": str(folder / "password")}
