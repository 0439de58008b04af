"""Runs all four founding incidents on one real cluster at once.

`python -m leadsman.lab.incidents.four_at_once FOLDER` records it. Three brokers and all clients run in network
namespaces. An idle worker loses records to broker 2, and a busy one beside it none; another creates a producer for each
record; an instance gets the address of a dead one, for which broker 1 still has the old MAC; and meanwhile broker 3,
which coordinates the consumer groups, is killed. Every fault is one of a mode's own experiment; here they overlap, and
each has its own subjects.
"""

from __future__ import annotations

import json
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.errors import LabError
from leadsman.interrupt import defer_interrupts
from leadsman.lab import faults
from leadsman.lab.brokers.cluster import Cluster, ClusterPlan
from leadsman.lab.brokers.consumer_groups import partition_leaders, place_groups
from leadsman.lab.network import hosts, neighbour_table
from leadsman.lab.network.fabric import DEVICE, DenyRule, Fabric, NetworkBehaviour
from leadsman.lab.oracles.ledger import build_ledger
from leadsman.lab.run.broker_monitor import BrokerMonitor
from leadsman.lab.run.recorder import Recorder
from leadsman.lab.run.run_context import FAULT_INJECTED, RECOVERED, RunContext
from leadsman.lab.run.trim import trim
from leadsman.lab.workload import clients
from leadsman.lab.workload.services import Service, ServiceHost, service_harm
from leadsman.lab.workload.worker import Worker
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from leadsman.lab.workload.services import RunningService

BROKERS = {
    1: ("10.20.4.11", "02:5a:10:00:00:01"),
    2: ("10.20.4.12", "02:5a:10:00:00:02"),
    3: ("10.20.4.13", "02:5a:10:00:00:03"),
    101: ("10.20.4.10", "02:5a:10:00:00:65"),
}
HOSTS = {
    "tools": ("10.20.4.9", "02:5a:10:00:00:09"),
    "services": ("10.20.4.40", "02:5a:10:00:00:28"),
    "worker-2": ("10.20.4.23", "02:5a:10:00:00:0c"),
    "idle-1": ("10.20.4.61", "02:5a:10:00:00:3d"),
    "busy-1": ("10.20.4.62", "02:5a:10:00:00:3e"),
    "leak-1": ("10.20.4.71", "02:5a:10:00:00:47"),
}
REUSED_ADDRESS, FIRST_OWNER_MAC, SECOND_OWNER_MAC = "10.20.4.57", "02:5a:10:00:00:0a", "02:5a:10:00:00:0b"
FIRST_OWNER, SECOND_OWNER = "worker-1", "worker-3"
KAFKA_PORT, BALANCED_PORT = 9092, 9095

IDLE_LIMIT_SECONDS = 5.0
LONG_IDLE_SECONDS = IDLE_LIMIT_SECONDS + 2.9
"""For so long the worker is idle: a broker checks for idle connections from time to time, and closes one at a time."""

SHORT_IDLE_LIMIT = {2: {"connections.max.idle.ms": str(int(IDLE_LIMIT_SECONDS * 1000))}}
"""Only on the idle worker's broker: an idle close sent to the dead instance would make broker 1 correct its entry."""

BROKER_SETTINGS = {
    "broker.session.timeout.ms": "20000",
    "offsets.topic.num.partitions": "6",
    "log.roll.ms": "5000",
}
STANDS_FOR = {
    "connections.max.idle.ms": "5 s stands for 600 s",
    "default.api.timeout.ms": "5 s stands for 60 s",
    "broker.session.timeout.ms": "20 s stands for minutes",
    "delivery.timeout.ms": "12 s stands for 120 s",
    "the leak": "a minute stands for weeks",
}
TOPICS: Mapping[str, tuple[tuple[int, ...], ...]] = {
    "orders": ((1, 2),),
    "payments": ((2, 1),),
    "clicks": ((2, 1),),
    "invoices": ((1, 2, 3), (2, 3, 1), (3, 1, 2)),
}
"""The brokers of each partition, its leader first. The one that is killed leads nothing that the workers need."""

SERVICES = tuple(
    Service(name=name, kind=kind, settings={"default.api.timeout.ms": commit_timeout, "request.timeout.ms": "4000"})
    for name, kind, commit_timeout in (("orders-stream", "streams", "5000"), ("billing", "consumer", "5000"))
)
NO_RETRIES = {"acks": "all", "retries": "0", "enable.idempotence": "false", "linger.ms": "0"}
STALE_NEIGHBOUR_SETTINGS = {
    "acks": "all",
    "delivery.timeout.ms": "12000",
    "request.timeout.ms": "6000",
    "max.block.ms": "12000",
    "socket.connection.setup.timeout.ms": "3000",
    "socket.connection.setup.timeout.max.ms": "4000",
}
NEIGHBOUR_TABLE_SETTINGS = {"base_reachable_time_ms": "4000", "gc_stale_time": "5", "delay_first_probe_time": "1"}
NEIGHBOUR_ENTRIES = 120
"""The most that thirteen hosts make, most of which talk to all brokers. From gc_thresh1 entries on the kernel would
delete the stale one."""

SEND_INTERVAL_SECONDS = 0.3
"""Between the records of the busy and of the leaking worker."""

SECONDS_AFTER_RECOVERY = 10.0
RECOVERED_TIMEOUT = timedelta(seconds=120)
INVENTORY = "aws ec2 describe-network-interfaces"


def run(out: Path) -> dict[str, Mapping[str, int]]:
    """Run it, write the trimmed capture to `out`, and return the harm by incident, as the ledger counts it."""
    with ExitStack() as stack:
        fabric = stack.enter_context(Fabric(behaviour=NetworkBehaviour(unicast="silent", balanced=(BALANCED_PORT,))))
        stack.enter_context(neighbour_table.gc_disabled(fabric, room=NEIGHBOUR_ENTRIES))
        for name, addresses in HOSTS.items():
            fabric.launch(name, *addresses)
        _report("Starting 3 brokers and a controller")
        cluster = stack.enter_context(_cluster(fabric))
        context = _context(Recorder(out, working_folder=cluster.folder), fabric, cluster, stack)
        context.record_topics()
        context.warm_up()
        background = {
            "busy-1": partial(_send_steadily, context=context),
            "leak-1": partial(_send_steadily, context=context),
        }
        context.run_scripts({}, background=background, foreground=partial(_run_incidents, context, stack))
        context.stop_programs()
        _record_capture(context)
        harm = _harm(context)
    trim(out)
    return harm


@contextmanager
def _cluster(fabric: Fabric) -> Iterator[Cluster]:
    namespaces = {node: fabric.launch(f"broker-{node}", *at).namespace for node, at in BROKERS.items()}
    settings = [f"net.ipv4.neigh.{DEVICE}.{key}={value}" for key, value in NEIGHBOUR_TABLE_SETTINGS.items()]
    fabric.run(namespaces[1].netns_entry, ["sysctl", "-qw", *settings])
    plan = ClusterPlan(
        namespaces=namespaces,
        tools_namespace=fabric.instances["tools"].namespace,
        brokers=3,
        settings=BROKER_SETTINGS,
        settings_by_broker=SHORT_IDLE_LIMIT,
    )
    with Cluster(plan) as cluster:
        for topic, assigned in TOPICS.items():
            cluster.create_topic(topic, replica_assignment=assigned)
        yield cluster


def _context(recorder: Recorder, fabric: Fabric, cluster: Cluster, stack: ExitStack) -> RunContext:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="leadsman-workers-")))
    workers: dict[str, Worker] = {}

    def spawn(name: str, extra: Mapping[str, str]) -> Worker:
        client, topic, own = WORKERS[name]
        settings, _ = client.translate({"bootstrap.servers": cluster.bootstrap, **own, **extra})
        with defer_interrupts():
            workers[name] = stack.enter_context(
                Worker.start(
                    name,
                    client,
                    topic=topic,
                    settings=settings,
                    folder=folder,
                    namespace=fabric.instances[name].namespace,
                    producers="record" if name == "leak-1" else "1",
                )
            )
        return workers[name]

    context = RunContext(
        cluster=cluster,
        forwarder=None,
        workers=workers,
        folder=folder,
        progress=_report,
        spawn=spawn,
        recorder=recorder,
        monitor=BrokerMonitor(cluster, topic="clicks", recorder=recorder),
        fabric=fabric,
    )
    _start_services(context, stack, folder)
    for name in ("worker-2", "idle-1", "busy-1", "leak-1"):
        spawn(name, {"bootstrap.servers": f"{BROKERS[2][0]}:{KAFKA_PORT}"} if name == "idle-1" else {})
    return context


WORKERS = {
    **dict.fromkeys(
        (FIRST_OWNER, "worker-2", SECOND_OWNER), (clients.client("java"), "orders", STALE_NEIGHBOUR_SETTINGS)
    ),
    "idle-1": (clients.client("java@2.7.2"), "payments", NO_RETRIES),
    "busy-1": (clients.client("confluent-kafka"), "payments", NO_RETRIES),
    "leak-1": (clients.client("confluent-kafka"), "clicks", {"enable.idempotence": "true"}),
}
"""Client, topic and settings of each worker."""


def _start_services(context: RunContext, stack: ExitStack, folder: Path) -> None:
    """Start the services and their source, with groups that broker 3 coordinates."""
    assert context.fabric is not None
    namespace = context.fabric.instances["services"].namespace
    host = ServiceHost(bootstrap=context.cluster.bootstrap, topic="invoices", folder=folder, namespace=namespace)
    context.group_placement = place_groups(context.cluster, [each.name for each in SERVICES], excluded=(1, 2))
    with defer_interrupts():
        context.source = stack.enter_context(host.start_source({"enable.idempotence": "true"}))
    running: dict[str, RunningService] = {}
    for service in SERVICES:
        with defer_interrupts():
            for each in host.start((service,), version="4.3.1", groups=context.group_placement.groups):
                running[each.name] = stack.enter_context(each)
    context.services = running


def _send_steadily(worker: Worker, *, context: RunContext) -> None:
    while context.is_running:
        context.wait(SEND_INTERVAL_SECONDS)
        worker.deliver()


def _run_incidents(context: RunContext, stack: ExitStack) -> None:
    _count_producer_ids(context)
    stack.enter_context(hosts.run_tcp_peer(_fabric(context), "broker-1", "serve", str(BALANCED_PORT)))
    _run_first_owner(context)
    for seconds in (0.8, LONG_IDLE_SECONDS, 1.5, LONG_IDLE_SECONDS):  # meanwhile the dead instance's address is unused
        _idle_then_deliver(context, seconds)
    _count_producer_ids(context)
    second_owner = _start_second_owner(context, stack)
    _kill_coordinator(context)
    _deliver_from_second_owner(context, second_owner)
    _wait_until_recovered(context)
    for seconds in (1.0, LONG_IDLE_SECONDS):
        _idle_then_deliver(context, seconds)
    context.wait(SECONDS_AFTER_RECOVERY)
    _count_producer_ids(context)


def _fabric(context: RunContext) -> Fabric:
    assert context.fabric is not None
    return context.fabric


def _count_producer_ids(context: RunContext) -> None:
    """Count producer ids, as an operator would: also while a broker is down."""
    alive = ",".join(f"{BROKERS[number][0]}:{KAFKA_PORT}" for number in (1, 2))
    hosts.record_collect(context, "tools", "kafka", "--bootstrap", alive, "--topic", "clicks")


def _idle_then_deliver(context: RunContext, seconds: float) -> None:
    """Leave the idle worker without records for so long. A FIN that the broker sends meanwhile does not reach it."""
    fabric, worker = _fabric(context), context.workers["idle-1"]
    lost = DenyRule(source=BROKERS[2][0], target=HOSTS["idle-1"][0])
    behaviour = replace(fabric.behaviour, denied=(lost,)) if seconds > IDLE_LIMIT_SECONDS else fabric.behaviour
    with faults.network(fabric, behaviour):
        context.wait(seconds)
    report = worker.deliver()
    result = "delivered" if report.acknowledged else f"failed: {report.result}"
    context.progress(f"idle-1 was idle for {seconds:g} s, then its record was {result}")


def _run_first_owner(context: RunContext) -> None:
    """Let the first owner of the address connect to broker 1 alone, and die without closing its connections."""
    fabric = _fabric(context)
    fabric.launch(FIRST_OWNER, REUSED_ADDRESS, FIRST_OWNER_MAC)
    others = tuple(DenyRule(source=REUSED_ADDRESS, target=BROKERS[number][0]) for number in (2, 3))
    with faults.network(fabric, replace(fabric.behaviour, denied=others)):
        worker = context.spawn(FIRST_OWNER, {"bootstrap.servers": f"{BROKERS[1][0]}:{KAFKA_PORT}"})
        worker.send()
        worker.await_report(is_warm_up=True)
        before = "cloud/network-interfaces-before.json"
        context.recorder.text(before, hosts.inventory(fabric), source="inventory", command=INVENTORY)
        context.progress(f"{FIRST_OWNER} has delivered a record; now its host dies")
        fabric.terminate(FIRST_OWNER, [worker.program])


def _start_second_owner(context: RunContext, stack: ExitStack) -> Worker:
    """Give the address to another instance, whose flow through a load balancer works."""
    fabric = _fabric(context)
    fabric.launch(SECOND_OWNER, REUSED_ADDRESS, SECOND_OWNER_MAC)
    stack.enter_context(hosts.run_tcp_peer(fabric, SECOND_OWNER, "keep", BROKERS[1][0], str(BALANCED_PORT)))
    return context.spawn(SECOND_OWNER, {})


def _kill_coordinator(context: RunContext) -> None:
    assert context.group_placement is not None
    context.progress(f"Killing broker {context.group_placement.coordinator.id}, which coordinates every group")
    context.group_placement.coordinator.kill()
    context.mark(FAULT_INJECTED)


def _deliver_from_second_owner(context: RunContext, second: Worker) -> None:
    """Let the new owner of the address send a record, and record the hosts meanwhile."""
    host_names = ("broker-1", "broker-2", "worker-2", SECOND_OWNER)
    with hosts.recording_handshakes(context, "broker-1", SECOND_OWNER, ports=(KAFKA_PORT,)):
        second.send()
        context.wait(3.0)
        hosts.record_hosts(context, *host_names)
        context.workers["worker-2"].deliver()
        hosts.record_hosts(context, *host_names)
        report = second.await_report(is_warm_up=True)
    context.progress(f"The first record of {SECOND_OWNER}: {report.result}")
    interfaces = hosts.inventory(_fabric(context))
    context.recorder.text("cloud/network-interfaces.json", interfaces, source="inventory", command=INVENTORY)


def _wait_until_recovered(context: RunContext) -> None:
    assert context.group_placement is not None
    not_leading = {context.group_placement.coordinator.id, -1}
    wait_for(
        lambda: (
            (by_partition := partition_leaders(context.cluster, "invoices"))
            and not not_leading & set(by_partition.values())
        ),
        timeout=RECOVERED_TIMEOUT,
        what="other brokers to lead every partition",
        error=LabError,
    )
    context.mark(RECOVERED)
    context.record_topics()


def _record_capture(context: RunContext) -> None:
    recorder = context.recorder
    recorder.services(tuple(context.services.values()))
    for worker in context.workers.values():
        recorder.workers((worker,), WORKERS[worker.name][0])
    recorder.brokers(context.cluster.nodes)
    for _, program in context.topic_descriptions:
        program.kill()
    recorder.finish(
        ran="python -m leadsman.lab.incidents.four_at_once",
        versions={"kafka": context.cluster.plan.kafka},
        stands_for=STANDS_FOR,
        settings={},
        notes=[],
    )


def _harm(context: RunContext) -> dict[str, Mapping[str, int]]:
    """Return the harm by worker, and that of the services: from acknowledgements and topics, and from no log."""
    assert context.source is not None
    harm: dict[str, Mapping[str, int]] = {}
    for name, worker in context.workers.items():
        ledger = build_ledger(worker.delivery_reports, context.cluster.read_topic(WORKERS[name][1]))
        harm[name] = {**ledger.harm, "sent": ledger.sent}
    services = service_harm(context.source, tuple(context.services.values()))
    return {**harm, "services": {kind.value: count for kind, count in services.items()}}


def _report(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(folder: str) -> None:
    """Record it anew, and write the harm by the ledger beside it."""
    out = Path(folder)
    harm = run(out)
    out.with_name(f"{out.name}.harm.json").write_text(json.dumps(harm, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
