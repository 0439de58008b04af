"""Plays all four founding incidents on one real cluster at once.

`python -m leadsman.lab.incidents.four_at_once FOLDER` records it. Three brokers and everybody else live in network
namespaces. An idle worker loses records to broker 2, and a busy one beside it none; another makes a producer for each
record; an instance gets the address of a dead one, which broker 1 still knows by the old MAC; and meanwhile broker 3,
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
from leadsman.interrupt import undisturbed
from leadsman.lab import clients, faults, hosts, kernel
from leadsman.lab.cluster import Cluster, Plan
from leadsman.lab.experiment import Stage
from leadsman.lab.fabric import DEVICE, Denied, Fabric, Ways
from leadsman.lab.groups import leaders, place
from leadsman.lab.ledger import judge
from leadsman.lab.record import Recorder
from leadsman.lab.services import Home, Service
from leadsman.lab.services import harm as harm_of
from leadsman.lab.trim import trim
from leadsman.lab.watch import Watch
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from leadsman.lab.clients import Worker
    from leadsman.lab.services import Running

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
REUSED, FIRST_MAC, SECOND_MAC = "10.20.4.57", "02:5a:10:00:00:0a", "02:5a:10:00:00:0b"
FIRST, SECOND = "worker-1", "worker-3"
KAFKA, BALANCED = 9092, 9095

LIMIT_SECONDS = 5.0
LONG_SECONDS = LIMIT_SECONDS + 2.9
"""A broker looks for idle connections every now and then, and closes one at a time."""

IMPATIENT = {2: {"connections.max.idle.ms": str(int(LIMIT_SECONDS * 1000))}}
"""Only where the idle worker sends: a close sent after the dead instance would have broker 1 find out by itself."""

BROKER = {
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
    Service(name=name, kind=kind, settings={"default.api.timeout.ms": patience, "request.timeout.ms": "4000"})
    for name, kind, patience in (("orders-stream", "streams", "5000"), ("billing", "consumer", "5000"))
)
AT_ONCE = {"acks": "all", "retries": "0", "enable.idempotence": "false", "linger.ms": "0"}
SUFFERS = {
    "acks": "all",
    "delivery.timeout.ms": "12000",
    "request.timeout.ms": "6000",
    "max.block.ms": "12000",
    "socket.connection.setup.timeout.ms": "3000",
    "socket.connection.setup.timeout.max.ms": "4000",
}
QUICK_NEIGHBOURS = {"base_reachable_time_ms": "4000", "gc_stale_time": "5", "delay_first_probe_time": "1"}
NEIGHBOURS = 120
"""Thirteen hosts, most of which talk to all brokers: the kernel would begin to forget."""

EVERY = 0.3
"""Seconds between the records of who is busy or leaks."""

AFTER_SECONDS = 10.0
SETTLED_WITHIN = timedelta(seconds=120)
INVENTORY = "aws ec2 describe-network-interfaces"


def run(out: Path) -> dict[str, Mapping[str, int]]:
    """Play it, write the capture to `out`, trimmed, and return the harm by incident, as the ledger has it."""
    with ExitStack() as stack:
        fabric = stack.enter_context(Fabric(ways=Ways(unicast="silent", balanced=(BALANCED,))))
        stack.enter_context(kernel.remembering(fabric, room=NEIGHBOURS))
        for name, where in HOSTS.items():
            fabric.launch(name, *where)
        _say("Starting 3 brokers and a controller")
        cluster = stack.enter_context(_cluster(fabric))
        stage = _stage(Recorder(out, working_folder=cluster.folder), fabric, cluster, stack)
        stage.look()
        stage.warm_up()
        alongside = {"busy-1": partial(_steadily, stage=stage), "leak-1": partial(_steadily, stage=stage)}
        stage.together({}, alongside=alongside, meanwhile=partial(_play, stage, stack))
        stage.dismiss()
        _record(stage)
        harm = _harm(stage)
    trim(out)
    return harm


@contextmanager
def _cluster(fabric: Fabric) -> Iterator[Cluster]:
    places = {node: fabric.launch(f"broker-{node}", *where).place for node, where in BROKERS.items()}
    settings = [f"net.ipv4.neigh.{DEVICE}.{key}={value}" for key, value in QUICK_NEIGHBOURS.items()]
    fabric.run(places[1].way, ["sysctl", "-qw", *settings])
    plan = Plan(places=places, tools=fabric.instances["tools"].place, brokers=3, settings=BROKER, per_broker=IMPATIENT)
    with Cluster(plan) as cluster:
        for topic, assigned in TOPICS.items():
            cluster.create_topic(topic, assigned=assigned)
        yield cluster


def _stage(recorder: Recorder, fabric: Fabric, cluster: Cluster, stack: ExitStack) -> Stage:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="leadsman-workers-")))
    workers: dict[str, Worker] = {}

    def hire(name: str, more: Mapping[str, str]) -> Worker:
        client, topic, own = CREW[name]
        settings, _ = client.translate({"bootstrap.servers": cluster.bootstrap, **own, **more})
        with undisturbed():
            workers[name] = stack.enter_context(
                clients.Worker.start(
                    name,
                    client,
                    topic=topic,
                    settings=settings,
                    folder=folder,
                    place=fabric.instances[name].place,
                    hold="record" if name == "leak-1" else "1",
                )
            )
        return workers[name]

    stage = Stage(
        cluster=cluster,
        forwarder=None,
        workers=workers,
        progress=_say,
        hire=hire,
        recorder=recorder,
        watch=Watch(cluster, topic="clicks", recorder=recorder),
        fabric=fabric,
    )
    _serve(stage, stack, folder)
    for name in ("worker-2", "idle-1", "busy-1", "leak-1"):
        hire(name, {"bootstrap.servers": f"{BROKERS[2][0]}:{KAFKA}"} if name == "idle-1" else {})
    return stage


CREW = {
    **dict.fromkeys((FIRST, "worker-2", SECOND), (clients.client("java"), "orders", SUFFERS)),
    "idle-1": (clients.client("java@2.7.2"), "payments", AT_ONCE),
    "busy-1": (clients.client("confluent-kafka"), "payments", AT_ONCE),
    "leak-1": (clients.client("confluent-kafka"), "clicks", {"enable.idempotence": "true"}),
}
"""Client, topic and settings of each worker."""


def _serve(stage: Stage, stack: ExitStack, folder: Path) -> None:
    """Start the services and their source, with groups that broker 3 coordinates."""
    assert stage.fabric is not None
    where = stage.fabric.instances["services"].place
    home = Home(bootstrap=stage.cluster.bootstrap, topic="invoices", folder=folder, place=where)
    stage.placed = place(stage.cluster, [each.name for each in SERVICES], spared=(1, 2))
    with undisturbed():
        stage.source = stack.enter_context(home.source({"enable.idempotence": "true"}))
    running: dict[str, Running] = {}
    for wanted in SERVICES:
        with undisturbed():
            for each in home.start((wanted,), version="4.3.1", groups=stage.placed.groups):
                running[each.name] = stack.enter_context(each)
    stage.services = running


def _steadily(worker: Worker, *, stage: Stage) -> None:
    while stage.going:
        stage.quiet(EVERY)
        worker.deliver()


def _play(stage: Stage, stack: ExitStack) -> None:
    _count(stage)
    stack.enter_context(hosts.service(_fabric(stage), "broker-1", "serve", str(BALANCED)))
    _first_life(stage)
    for seconds in (0.8, LONG_SECONDS, 1.5, LONG_SECONDS):  # and meanwhile the dead instance's address rests
        _idle(stage, seconds)
    _count(stage)
    second = _second_life(stage, stack)
    _kill(stage)
    _suffer(stage, second)
    _until_settled(stage)
    for seconds in (1.0, LONG_SECONDS):
        _idle(stage, seconds)
    stage.quiet(AFTER_SECONDS)
    _count(stage)


def _fabric(stage: Stage) -> Fabric:
    assert stage.fabric is not None
    return stage.fabric


def _count(stage: Stage) -> None:
    """Count producer ids, as whoever looks after the cluster would: with a broker gone too."""
    alive = ",".join(f"{BROKERS[number][0]}:{KAFKA}" for number in (1, 2))
    hosts.collected(stage, "tools", "kafka", "--bootstrap", alive, "--topic", "clicks")


def _idle(stage: Stage, seconds: float) -> None:
    """Leave the idle worker alone for so long. News of what the broker closes meanwhile do not reach it."""
    fabric, worker = _fabric(stage), stage.workers["idle-1"]
    lost = Denied(source=BROKERS[2][0], target=HOSTS["idle-1"][0])
    ways = replace(fabric.ways, denied=(lost,)) if seconds > LIMIT_SECONDS else fabric.ways
    with faults.network(fabric, ways):
        stage.quiet(seconds)
    told = worker.deliver()
    ended = "delivered" if told.acknowledged else f"failed: {told.result}"
    stage.progress(f"idle-1 was quiet for {seconds:g} s, then its record was {ended}")


def _first_life(stage: Stage) -> None:
    """Let the first owner of the address talk to broker 1 alone, and die without a word."""
    fabric = _fabric(stage)
    fabric.launch(FIRST, REUSED, FIRST_MAC)
    others = tuple(Denied(source=REUSED, target=BROKERS[number][0]) for number in (2, 3))
    with faults.network(fabric, replace(fabric.ways, denied=others)):
        worker = stage.hire(FIRST, {"bootstrap.servers": f"{BROKERS[1][0]}:{KAFKA}"})
        worker.send()
        worker.answer(first=True)
        before = "cloud/network-interfaces-before.json"
        stage.recorder.text(before, hosts.inventory(fabric), source="inventory", command=INVENTORY)
        stage.progress(f"{FIRST} has delivered a record; now its host dies")
        fabric.terminate(FIRST, [worker.program])


def _second_life(stage: Stage, stack: ExitStack) -> Worker:
    """Give the address to another instance, whose flow through a load balancer works."""
    fabric = _fabric(stage)
    fabric.launch(SECOND, REUSED, SECOND_MAC)
    stack.enter_context(hosts.service(fabric, SECOND, "keep", BROKERS[1][0], str(BALANCED)))
    return stage.hire(SECOND, {})


def _kill(stage: Stage) -> None:
    assert stage.placed is not None
    stage.progress(f"Killing broker {stage.placed.broker.id}, which coordinates every group")
    stage.placed.broker.kill()
    stage.mark("struck")


def _suffer(stage: Stage, second: Worker) -> None:
    """Let the new owner of the address send a record, and look at the hosts meanwhile."""
    looked_at = ("broker-1", "broker-2", "worker-2", SECOND)
    with hosts.watched(stage, "broker-1", SECOND, ports=(KAFKA,)):
        second.send()
        stage.quiet(3.0)
        hosts.snapshot(stage, *looked_at)
        stage.workers["worker-2"].deliver()
        hosts.snapshot(stage, *looked_at)
        told = second.answer(first=True)
    stage.progress(f"The first record of {SECOND}: {told.result}")
    interfaces = hosts.inventory(_fabric(stage))
    stage.recorder.text("cloud/network-interfaces.json", interfaces, source="inventory", command=INVENTORY)


def _until_settled(stage: Stage) -> None:
    assert stage.placed is not None
    gone = {stage.placed.broker.id, -1}
    wait_for(
        lambda: (led := leaders(stage.cluster, "invoices")) and not gone & set(led.values()),
        within=SETTLED_WITHIN,
        what="other brokers to lead every partition",
        error=LabError,
    )
    stage.mark("settled")
    stage.look()


def _record(stage: Stage) -> None:
    recorder = stage.recorder
    recorder.services(tuple(stage.services.values()))
    for worker in stage.workers.values():
        recorder.workers((worker,), CREW[worker.name][0])
    recorder.brokers(stage.cluster.nodes)
    for _, program in stage.looks:
        program.kill()
    recorder.finish(
        ran="python -m leadsman.lab.incidents.four_at_once",
        versions={"kafka": stage.cluster.plan.kafka},
        stands_for=STANDS_FOR,
        settings={},
        notes=[],
    )


def _harm(stage: Stage) -> dict[str, Mapping[str, int]]:
    """Return what each incident did, by who suffered it: from acknowledgements and topics, and from no log."""
    assert stage.source is not None
    suffered: dict[str, Mapping[str, int]] = {}
    for name, worker in stage.workers.items():
        ledger = judge(worker.told, stage.cluster.read_topic(CREW[name][1]))
        suffered[name] = {**ledger.harm, "sent": ledger.sent}
    of_services = harm_of(stage.source, tuple(stage.services.values()))
    return {**suffered, "services": {kind.value: count for kind, count in of_services.items()}}


def _say(says: str) -> None:
    sys.stdout.write(f"{says}\n")
    sys.stdout.flush()


def main(folder: str) -> None:
    """Record it anew, and write what the ledger said beside it."""
    out = Path(folder)
    harm = run(out)
    out.with_name(f"{out.name}.harm.json").write_text(json.dumps(harm, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
