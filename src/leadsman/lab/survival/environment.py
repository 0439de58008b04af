"""The environment of a fault: a cluster, a path to it, and six workers: three clients, plain and wrapped."""

from __future__ import annotations

import tempfile
import threading
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.interrupt import defer_interrupts
from leadsman.lab.brokers.cluster import ADDRESS, Cluster, ClusterPlan
from leadsman.lab.network.forwarder import Forwarder
from leadsman.lab.programs.survival_service import SurvivalOptions
from leadsman.lab.run.broker_monitor import BrokerMonitor
from leadsman.lab.run.recorder import Recorder
from leadsman.lab.run.run_context import RunContext
from leadsman.lab.run.variant_run import no_progress
from leadsman.lab.workload.clients import Client, Translation, python_command
from leadsman.lab.workload.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from leadsman.lab.run.run_context import WorkerScript

LIMIT_SECONDS = 3.0
"""Stands for a hop's idle limit: 600 s at a broker, 350 s on the way through AWS."""

PLAIN, WRAPPED = "plain", "wrapped"
CLIENTS = ("confluent-kafka", "kafka-python", "aiokafka")
WORKERS = tuple(f"{client}-{how}" for client in CLIENTS for how in (PLAIN, WRAPPED))

TOPIC = "orders"
USER = "orders"

WARM_UP_RECORDS = 3
"""The first includes loading and connecting; then each client knows its partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultEnvironment:
    """What a fault needs. `security`: clients authenticate with a password."""

    plan: ClusterPlan
    freezes: bool = False
    forks: bool = False
    replica_assignment: tuple[tuple[int, ...], ...] = ()
    direct: bool = False
    """No forwarder: a forwarder serves one broker only."""
    security: bool = False
    prepare: Callable[[Cluster, Path], None] = lambda _cluster, _folder: None


def pause(seconds: float) -> None:
    """Wait for so long: the wait is the experiment."""
    threading.Event().wait(seconds)


@contextmanager
def running_environment(environment: FaultEnvironment) -> Iterator[RunContext]:
    """Start everything and have each worker deliver its first records. No capture is recorded."""
    with ExitStack() as stack:
        forwarder = None if environment.direct else stack.enter_context(Forwarder())
        proxy_ports = {} if forwarder is None else {1: forwarder.port}
        cluster = stack.enter_context(Cluster(replace(environment.plan, proxy_ports=proxy_ports)))
        if forwarder is not None:
            forwarder.target = (ADDRESS, cluster.brokers[0].ports["PROXY"])
        cluster.create_topic(TOPIC, replica_assignment=environment.replica_assignment)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="leadsman-workers-")))
        environment.prepare(cluster, folder)
        context = _context(environment, stack, cluster, forwarder=forwarder, folder=folder)
        for name in WORKERS:
            context.spawn(name, {})
        if not environment.forks:
            run_everywhere(context, _warm_up)
        yield context


def _context(
    environment: FaultEnvironment, stack: ExitStack, cluster: Cluster, *, forwarder: Forwarder | None, folder: Path
) -> RunContext:
    bootstrap = cluster.bootstrap if forwarder is None else f"{ADDRESS}:{forwarder.port}"
    workers: dict[str, Worker] = {}
    recorder = Recorder(folder / "capture", working_folder=cluster.folder)

    def spawn(name: str, settings: Mapping[str, str]) -> Worker:
        with defer_interrupts():
            workers[name] = stack.enter_context(
                _start(name, environment, {**settings, "bootstrap.servers": bootstrap}, folder)
            )
        return workers[name]

    return RunContext(
        cluster=cluster,
        forwarder=forwarder,
        workers=workers,
        folder=folder,
        progress=no_progress,
        spawn=spawn,
        recorder=recorder,
        monitor=BrokerMonitor(cluster, topic=TOPIC, recorder=recorder),
    )


def run_everywhere(context: RunContext, script: WorkerScript) -> None:
    """Run the script with every worker, side by side."""
    context.run_scripts(dict.fromkeys(context.workers, script))


def _warm_up(worker: Worker) -> None:
    for _ in range(WARM_UP_RECORDS):
        worker.send()
        worker.await_report(is_warm_up=True)


def _start(name: str, environment: FaultEnvironment, settings: Mapping[str, str], folder: Path) -> Worker:
    client, _, how = name.rpartition("-")
    options = SurvivalOptions(
        client=client,
        wrapped=how == WRAPPED,
        settings=_settings(client, environment, settings),
        hop_seconds=LIMIT_SECONDS,
        freezes=environment.freezes,
        forks=environment.forks,
        **_password(client, environment, folder),
    )
    service = Client(
        name=name, version="", library=client, translate=_unchanged, command=python_command("survival_service")
    )
    return Worker.start(name, service, topic=TOPIC, settings=asdict(options), folder=folder)


def _unchanged(settings: Mapping[str, str]) -> Translation:
    return dict(settings), ()


def _settings(client: str, environment: FaultEnvironment, settings: Mapping[str, str]) -> Mapping[str, object]:
    """Return these settings in the client's names, with those of the environment's security."""
    dotted = dict(settings)
    if environment.security:
        dotted |= {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-256"}
    if client == "confluent-kafka":
        return dotted | ({"sasl.username": USER} if environment.security else {})
    underscored: dict[str, object] = {name.replace(".", "_"): value for name, value in dotted.items()}
    return underscored | ({"sasl_plain_username": USER} if environment.security else {})


def _password(client: str, environment: FaultEnvironment, folder: Path) -> dict[str, str]:
    if not environment.security:
        return {}
    name = "sasl.password" if client == "confluent-kafka" else "sasl_plain_password"
    return {"password": name, "password_file": str(folder / "password")}
