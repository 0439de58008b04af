"""Makes `stale_neighbour` happen: an instance dies, another gets its address, and a broker answers to the dead MAC.

The network is a cloud's: it answers ARP itself. `worker-1` has the address first. It dies, and `worker-3` is launched
with the same address and another MAC. `worker-2` has an address of its own and is fine; so is broker 2, which has never
talked to the dead instance. Two things keep the wrong entry alive, and either is enough: a flow from the same address
that the network delivers whatever MAC it names (a load balancer that keeps client addresses), or a network that says
yes whenever it is asked whether a MAC still holds.
"""

from __future__ import annotations

import signal
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from leadsman.errors import LabError
from leadsman.lab import faults, hosts, kernel
from leadsman.lab.experiment import Experiment, Scenario, Variant
from leadsman.lab.fabric import DEVICE, Denied, Site, Ways
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from leadsman.lab.clients import Worker
    from leadsman.lab.experiment import Stage
    from leadsman.lab.fabric import Fabric

BROKER_1, BROKER_2, CONTROLLER, CASSANDRA = "10.20.4.11", "10.20.4.12", "10.20.4.10", "10.20.4.31"
REUSED, FRESH, ELSEWHERE, GATEWAY = "10.20.4.57", "10.20.4.23", "10.20.4.99", "10.20.4.254"
FIRST_MAC, SECOND_MAC, FRESH_MAC = "02:5a:10:00:00:0a", "02:5a:10:00:00:0b", "02:5a:10:00:00:0c"
FIRST, FINE, SECOND = "worker-1", "worker-2", "worker-3"

KAFKA, BALANCED, CASSANDRA_PORT = 9092, 9095, 9042
"""Brokers listen on the first; the second is behind a load balancer; the third is Cassandra's."""

SERVERS = ("broker-1", "broker-2", "cassandra-1")

SITE = Site(
    brokers={
        1: (BROKER_1, "02:5a:10:00:00:01"),
        2: (BROKER_2, "02:5a:10:00:00:02"),
        101: (CONTROLLER, "02:5a:10:00:00:65"),
    },
    workers={FINE: (FRESH, FRESH_MAC)},
    tools=("10.20.4.9", "02:5a:10:00:00:09"),
    ways=Ways(unicast="silent", balanced=(BALANCED,)),
)
CONFIRMING = replace(SITE, ways=Ways(unicast="confirm"))


def in_ipv6(address: str) -> str:
    """Return what an instance's address is on the same network in IPv6: its last number is the same."""
    return f"fd00:10:20:4::{address.rpartition('.')[2]}"


SITE_IPV6 = replace(
    SITE,
    brokers={node: (in_ipv6(address), mac) for node, (address, mac) in SITE.brokers.items()},
    workers={name: (in_ipv6(address), mac) for name, (address, mac) in SITE.workers.items()},
    tools=(in_ipv6(SITE.tools[0]), SITE.tools[1]),
)

QUICK_NEIGHBOURS = {"base_reachable_time_ms": "4000", "gc_stale_time": "5", "delay_first_probe_time": "1"}
"""On the servers' interfaces. An unused entry is then collected within 15 s, where it takes 70 with the defaults.
Reachable time stays above the first probe's delay, or an idle entry would probe itself for ever."""

REST_SECONDS = 17.0
"""How long an address rests before it is used again: longer than collecting takes."""

FORGOTTEN_WITHIN = timedelta(minutes=1)
"""Four times what collecting takes on a quiet machine."""

LOOKS_AFTER = (3.0, 4.0)
"""Seconds from the first record of the new instance to the first look at the hosts, and from that to the second."""

SETTINGS = {
    "acks": "all",
    "delivery.timeout.ms": "12000",
    "request.timeout.ms": "6000",
    "socket.connection.setup.timeout.ms": "3000",
}
BLOCKS = {"max.block.ms": "12000", "socket.connection.setup.timeout.max.ms": "4000"}
FOR_CLIENT = {"java": BLOCKS, "kafka-python": BLOCKS}
STANDS_FOR = {
    "delivery.timeout.ms": "12 s stands for 120 s",
    "socket.connection.setup.timeout.ms": "3 s stands for 10 s",
    "net.ipv4.neigh.*.base_reachable_time_ms": "4 s stands for 30 s",
    "net.ipv4.neigh.*.gc_stale_time": "5 s stands for 60 s",
}


def play_reuse(
    stage: Stage,
    *,
    collector: Callable[..., AbstractContextManager[None]] = kernel.remembering,
    balanced: bool = True,
    heal: bool = False,
    forgotten: bool = False,
) -> None:
    """Let an address change hands, and its new owner try to produce.

    `forgotten`: the address rests until the servers have forgotten its first owner, which a busy machine can put off.
    """
    fabric = _fabric(stage)
    with ExitStack() as stack:
        stack.enter_context(collector(fabric))
        _prepare(stage, stack)
        _first_life(stage)
        stage.progress(f"The address of {FIRST} rests for {REST_SECONDS:g} s")
        stage.quiet(REST_SECONDS)
        if forgotten:
            wait_for(
                lambda: not _remembered(stage),
                within=FORGOTTEN_WITHIN,
                what=f"the servers to forget {REUSED}",
                every=timedelta(seconds=1),
                error=LabError,
            )
        second = _second_life(stage, stack, balanced=balanced)
        _suffer(stage, second)
        if heal:
            _heal(stage, second)
    _say_drops(stage)


def _remembered(stage: Stage) -> list[str]:
    """Return the servers whose neighbour table still knows the address that is used again."""
    fabric = _fabric(stage)
    asked = ["ip", "neigh", "show", "to", _here(stage, REUSED), "dev", DEVICE]
    return [name for name in SERVERS if fabric.run(fabric.instances[name].place.way, asked).strip()]


def _fabric(stage: Stage) -> Fabric:
    assert stage.fabric is not None
    return stage.fabric


def _here(stage: Stage, address: str) -> str:
    """Return an address as this network has it."""
    return in_ipv6(address) if ":" in _fabric(stage).instances["broker-1"].place.address else address


def _prepare(stage: Stage, stack: ExitStack) -> None:
    """Start the second service, and make the servers' neighbour tables quick."""
    fabric = _fabric(stage)
    fabric.launch("cassandra-1", _here(stage, CASSANDRA), "02:5a:10:00:00:1f")
    for name in SERVERS:
        settings = [
            f"net.{family}.neigh.{DEVICE}.{key}={value}"
            for family in ("ipv4", "ipv6")
            for key, value in QUICK_NEIGHBOURS.items()
        ]
        fabric.run(fabric.instances[name].place.way, ["sysctl", "-qw", *settings])
    stack.enter_context(hosts.service(fabric, "cassandra-1", "serve", str(CASSANDRA_PORT), str(BALANCED)))
    stack.enter_context(hosts.service(fabric, "broker-1", "serve", str(BALANCED)))


def _first_life(stage: Stage) -> None:
    """Let the first owner of the address talk to broker 1 and to Cassandra, and die without a word."""
    fabric = _fabric(stage)
    fabric.launch(FIRST, _here(stage, REUSED), FIRST_MAC)
    never_met = Denied(source=_here(stage, REUSED), target=_here(stage, BROKER_2))
    with faults.network(fabric, replace(fabric.ways, denied=(never_met,))):
        broker = fabric.instances["broker-1"].place.host
        worker = stage.hire(FIRST, {"bootstrap.servers": f"{broker}:{KAFKA}"})
        worker.send()
        worker.answer(first=True)
        with hosts.service(fabric, FIRST, "keep", _here(stage, CASSANDRA), str(CASSANDRA_PORT)) as other:
            stage.recorder.text(
                "cloud/network-interfaces-before.json", hosts.inventory(fabric), source="inventory", command=INVENTORY
            )
            stage.progress(f"{FIRST} has delivered a record; now its host dies")
            fabric.terminate(FIRST, [worker.program, other])


INVENTORY = "aws ec2 describe-network-interfaces"


def _second_life(stage: Stage, stack: ExitStack, *, balanced: bool) -> Worker:
    """Give the address to another instance. Its flows through the load balancer work at once."""
    fabric = _fabric(stage)
    fabric.launch(SECOND, _here(stage, REUSED), SECOND_MAC)
    if balanced:
        for server in (BROKER_1, CASSANDRA):
            stack.enter_context(hosts.service(fabric, SECOND, "keep", _here(stage, server), str(BALANCED)))
    stack.enter_context(hosts.service(fabric, SECOND, "knock", _here(stage, CASSANDRA), str(CASSANDRA_PORT)))
    return stage.hire(SECOND, {})


def _suffer(stage: Stage, second: Worker, *, watched: tuple[str, ...] = ("broker-1", SECOND)) -> None:
    """Let the new owner send a record while the other worker goes on, and look at the hosts meanwhile."""
    fabric = _fabric(stage)
    looked_at = ("broker-1", "broker-2", *(("cassandra-1",) if "cassandra-1" in fabric.instances else ()), FINE, SECOND)
    with hosts.watched(stage, *watched, ports=(KAFKA, CASSANDRA_PORT)):
        second.send()
        for seconds in LOOKS_AFTER:
            stage.quiet(seconds)
            hosts.snapshot(stage, *looked_at)
            stage.workers[FINE].deliver()
        told = second.answer(first=True)
        ended = "delivered" if told.acknowledged else f"failed: {told.result}"
        stage.progress(f"The first record of {SECOND} was {ended}")
    stage.recorder.text("cloud/network-interfaces.json", hosts.inventory(fabric), source="inventory", command=INVENTORY)


def _heal(stage: Stage, second: Worker) -> None:
    fabric = _fabric(stage)
    stage.progress(f"Forgetting {REUSED} on broker 1: ip neigh del")
    wrong = ["ip", "neigh", "del", _here(stage, REUSED), "dev", DEVICE]
    fabric.run(fabric.instances["broker-1"].place.way, wrong)
    for _ in range(2):
        told = second.deliver()
    stage.progress(f"The next records of {SECOND} took {told.took.total_seconds():.1f} s: {told.result}")


def _say_drops(stage: Stage) -> None:
    """Say what the network itself saw: frames to a MAC that nobody owns any more."""
    drops = _fabric(stage).drops()
    dead = sum(count for drop, count in drops.items() if drop.mac == FIRST_MAC)
    stage.progress(f"The network dropped {dead} frames to the MAC of {FIRST}, which is dead")


def play_wrong_entry_unused(stage: Stage) -> None:
    """Leave an entry wrong of which nobody has need: a risk, and no incident."""
    fabric = _fabric(stage)
    with ExitStack() as stack:
        stack.enter_context(kernel.remembering(fabric))
        _prepare(stage, stack)
        _first_life(stage)
        fabric.launch(SECOND, REUSED, SECOND_MAC)
        stage.recorder.text(
            "cloud/network-interfaces.json", hosts.inventory(fabric), source="inventory", command=INVENTORY
        )
        for _ in range(3):
            stage.workers[FINE].deliver()
            hosts.snapshot(stage, "broker-1", "broker-2", FINE, SECOND)


def play_near_miss(stage: Stage, *, fault: Callable[[Stage], AbstractContextManager[object]]) -> None:
    """Keep an instance at an address that nobody had before from reaching broker 1, for another reason."""
    fabric = _fabric(stage)
    fabric.launch(SECOND, REUSED, SECOND_MAC)
    with kernel.collecting_from(None), fault(stage):
        second = stage.hire(SECOND, {})
        _suffer(stage, second)


def _stopped(stage: Stage) -> AbstractContextManager[object]:
    """Kill broker 1: its host answers with a reset."""
    return faults.down(stage.cluster.brokers[0], by=signal.SIGKILL)


def _syn_dropped(stage: Stage) -> AbstractContextManager[object]:
    """Drop what comes from the new instance, by the firewall of broker 1's host."""
    return faults.deaf(_fabric(stage), "broker-1", to=REUSED, port=KAFKA)


def _syn_ack_dropped(stage: Stage) -> AbstractContextManager[object]:
    """Drop what broker 1 answers, by a stateless access list."""
    fabric = _fabric(stage)
    return faults.network(
        fabric, replace(fabric.ways, denied=(Denied(source=BROKER_1, source_port=KAFKA, target=REUSED),))
    )


@contextmanager
def _queue_full(stage: Stage) -> Iterator[None]:
    """Let broker 1 hang, and others fill its accept queue."""
    fabric, broker = _fabric(stage), stage.cluster.brokers[0]
    assert broker.program is not None
    with faults.frozen(broker.program), hosts.service(fabric, "tools", "crowd", BROKER_1, str(KAFKA)):
        yield


@contextmanager
def _asymmetric(stage: Stage) -> Iterator[None]:
    """Let broker 1 answer through a gateway that leads nowhere."""
    fabric = _fabric(stage)
    fabric.launch("gateway", GATEWAY, "02:5a:10:00:00:fe")
    with faults.detour(fabric, "broker-1", to=REUSED, through=GATEWAY):
        yield


def _black_hole(stage: Stage) -> AbstractContextManager[object]:
    """Let connections be opened, and packets above a size vanish."""
    fabric = _fabric(stage)
    return faults.network(fabric, replace(fabric.ways, largest=LARGEST))


LARGEST = 250
"""Bytes of a frame: a handshake fits, a broker's first answer does not."""


@contextmanager
def _wrong_address(stage: Stage) -> Iterator[None]:
    """Let an instance which answers nobody have what the client believes to be a broker's address."""
    fabric = _fabric(stage)
    fabric.launch("elsewhere", ELSEWHERE, "02:5a:10:00:00:63")
    with faults.deaf(fabric, "elsewhere", to=REUSED, port=KAFKA):
        yield


def play_wrong_address(stage: Stage) -> None:
    """Tell the new instance an address that was a broker's once."""
    fabric = _fabric(stage)
    fabric.launch(SECOND, REUSED, SECOND_MAC)
    with kernel.collecting_from(None), _wrong_address(stage):
        second = stage.hire(SECOND, {"bootstrap.servers": f"{ELSEWHERE}:{KAFKA}"})
        _suffer(stage, second)


def _variant(says: str, play: Callable[[Stage], None], site: Site = SITE) -> Variant:
    return Variant(
        says=says,
        play=play,
        workers=(FINE,),
        settings=SETTINGS,
        for_client=FOR_CLIENT,
        site=site,
        stands_for=STANDS_FOR,
    )


def _near(says: str, fault: Callable[[Stage], AbstractContextManager[object]]) -> Variant:
    return _variant(says, partial(play_near_miss, fault=fault))


NEAR_MISSES = {
    "broker_stopped": _near("A broker's process is killed: its host answers with a reset", _stopped),
    "syn_dropped": _near("A firewall on the broker's host drops what one client sends", _syn_dropped),
    "syn_ack_dropped": _near("An access list drops what the broker answers to one client", _syn_ack_dropped),
    "queue_full": _near("A broker hangs and its accept queue is full", _queue_full),
    "asymmetric_route": _near("A broker answers one client through a gateway that leads nowhere", _asymmetric),
    "black_hole": _near("Connections are opened, and large packets vanish", _black_hole),
    "wrong_address": _variant("A client was told an address that is no broker's any more", play_wrong_address),
    "wrong_entry_unused": _variant(
        "A broker's neighbour entry is wrong, and nobody has need of it", play_wrong_entry_unused
    ),
}

RECORDINGS = {
    "broken-confluent-kafka": ("broken", "confluent-kafka"),
    "broken-java": ("broken", "java"),
    "broken-confirming-kafka-python": ("broken_confirming", "kafka-python"),
    "broken-healed-java": ("broken_healed", "java"),
    "broken-ipv6-java": ("broken_ipv6", "java"),
    "healthy-confluent-kafka": ("cured", "confluent-kafka"),
    "healthy-java": ("cured", "java"),
    **{f"near-miss-{name.replace('_', '-')}": (name, "java") for name in NEAR_MISSES},
}

EXPERIMENT = Experiment(
    mode="stale_neighbour",
    scenario=Scenario(brokers=2, near_misses=tuple(NEAR_MISSES), stands_for=STANDS_FOR),
    variants={
        "broken": _variant("An instance dies and another gets its address; a flow keeps the entry alive", play_reuse),
        "broken_confirming": _variant(
            "The same on a network that confirms whatever it is asked", partial(play_reuse, balanced=False), CONFIRMING
        ),
        "broken_ipv6": _variant(
            "The same with IPv6, whose neighbours are discovered by other messages", play_reuse, SITE_IPV6
        ),
        "broken_healed": _variant(
            "The same, and broker 1 is made to forget the address", partial(play_reuse, heal=True)
        ),
        "cured": _variant(
            "The same, but the servers' kernel forgets unused neighbours",
            partial(play_reuse, collector=kernel.forgetting, forgotten=True),
        ),
        **NEAR_MISSES,
    },
    recordings=RECORDINGS,
    assigned=((1,),),
)
