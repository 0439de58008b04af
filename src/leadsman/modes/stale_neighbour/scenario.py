"""Reproduces `stale_neighbour`: an instance dies, another gets its address, and a broker answers to the dead MAC.

The network behaves like a cloud's: it answers ARP itself. `worker-1` has the address first. It dies, and `worker-3` is
launched with the same address and another MAC. `worker-2` has its own address and is not affected; nor is broker 2,
which never had a connection to the dead instance. One of two conditions keeps the wrong entry: a flow from the same
address that the network delivers with any destination MAC (a load balancer that keeps client addresses), or a network
that confirms every MAC in a unicast ARP probe.
"""

from __future__ import annotations

import signal
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from leadsman.errors import LabError
from leadsman.lab import faults
from leadsman.lab.network import hosts, neighbour_table
from leadsman.lab.network.fabric import DEVICE, DenyRule, NetworkBehaviour, NetworkLayout
from leadsman.lab.run.experiment import Experiment, Scenario, Topology, Variant, Workload
from leadsman.lab.run.run_context import FAULT_INJECTED, RECOVERED
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from leadsman.lab.network.fabric import Fabric
    from leadsman.lab.run.run_context import RunContext
    from leadsman.lab.workload.worker import Worker

BROKER_1_ADDRESS, BROKER_2_ADDRESS, CONTROLLER_ADDRESS = "10.20.4.11", "10.20.4.12", "10.20.4.10"
CASSANDRA_ADDRESS, OTHER_HOST_ADDRESS, GATEWAY_ADDRESS = "10.20.4.31", "10.20.4.99", "10.20.4.254"
REUSED_ADDRESS, UNAFFECTED_ADDRESS = "10.20.4.57", "10.20.4.23"
FIRST_OWNER_MAC, SECOND_OWNER_MAC, UNAFFECTED_MAC = "02:5a:10:00:00:0a", "02:5a:10:00:00:0b", "02:5a:10:00:00:0c"
FIRST_OWNER, UNAFFECTED_WORKER, SECOND_OWNER = "worker-1", "worker-2", "worker-3"

KAFKA_PORT, BALANCED_PORT, CASSANDRA_PORT = 9092, 9095, 9042
"""Ports. Brokers listen on the first; the second is behind a load balancer; the third is Cassandra's."""

SERVERS = ("broker-1", "broker-2", "cassandra-1")

SITE = NetworkLayout(
    brokers={
        1: (BROKER_1_ADDRESS, "02:5a:10:00:00:01"),
        2: (BROKER_2_ADDRESS, "02:5a:10:00:00:02"),
        101: (CONTROLLER_ADDRESS, "02:5a:10:00:00:65"),
    },
    workers={UNAFFECTED_WORKER: (UNAFFECTED_ADDRESS, UNAFFECTED_MAC)},
    tools=("10.20.4.9", "02:5a:10:00:00:09"),
    behaviour=NetworkBehaviour(unicast="silent", balanced=(BALANCED_PORT,)),
)
CONFIRMING = replace(SITE, behaviour=NetworkBehaviour(unicast="confirm"))


def in_ipv6(address: str) -> str:
    """Return an instance's IPv6 address on the same network: the last number is the same."""
    return f"fd00:10:20:4::{address.rpartition('.')[2]}"


SITE_IPV6 = replace(
    SITE,
    brokers={node: (in_ipv6(address), mac) for node, (address, mac) in SITE.brokers.items()},
    workers={name: (in_ipv6(address), mac) for name, (address, mac) in SITE.workers.items()},
    tools=(in_ipv6(SITE.tools[0]), SITE.tools[1]),
)

NEIGHBOUR_TABLE_SETTINGS = {"base_reachable_time_ms": "4000", "gc_stale_time": "5", "delay_first_probe_time": "1"}
"""On the servers' interfaces. The kernel then deletes an unused entry within 15 s instead of 70 s with the defaults.
Reachable time stays above the first probe's delay, or an idle entry would probe itself for ever."""

REST_SECONDS = 17.0
"""How long an address is unused before it is reused: longer than the kernel takes to delete an entry."""

FORGOTTEN_TIMEOUT = timedelta(minutes=1)
"""Four times as long as the kernel takes to delete an entry on an idle machine."""

LOOKS_AFTER = (3.0, 4.0)
"""Seconds from the first record of the new instance to the first sample of the hosts, and from that to the second."""

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


def reuse_address(
    context: RunContext,
    *,
    collector: Callable[..., AbstractContextManager[None]] = neighbour_table.gc_disabled,
    balanced: bool = True,
    heal: bool = False,
    forgotten: bool = False,
) -> None:
    """Give an address to another instance, and let its new owner try to produce.

    `forgotten`: the address is unused until the servers have deleted the entry of its first owner, which takes longer
    on a busy machine.
    """
    fabric = _fabric(context)
    with ExitStack() as stack:
        stack.enter_context(collector(fabric))
        _prepare(context, stack)
        _run_first_owner(context)
        context.progress(f"The address of {FIRST_OWNER} is unused for {REST_SECONDS:g} s")
        context.wait(REST_SECONDS)
        if forgotten:
            wait_for(
                lambda: not _remembered(context),
                timeout=FORGOTTEN_TIMEOUT,
                what=f"the servers to forget {REUSED_ADDRESS}",
                every=timedelta(seconds=1),
                error=LabError,
            )
        second = _start_second_owner(context, stack, balanced=balanced)
        _deliver_from_second_owner(context, second)
        context.go_on_sending(second)
        if heal:
            _heal(context, second)
    _report_drops(context)


def _remembered(context: RunContext) -> list[str]:
    """Return the servers whose neighbour table still has an entry for the reused address."""
    fabric = _fabric(context)
    command = ["ip", "neigh", "show", "to", _on_this_network(context, REUSED_ADDRESS), "dev", DEVICE]
    return [name for name in SERVERS if fabric.run(fabric.instances[name].namespace.netns_entry, command).strip()]


def _fabric(context: RunContext) -> Fabric:
    assert context.fabric is not None
    return context.fabric


def _on_this_network(context: RunContext, address: str) -> str:
    """Return an address in the family of this network."""
    return in_ipv6(address) if ":" in _fabric(context).instances["broker-1"].namespace.address else address


def _prepare(context: RunContext, stack: ExitStack) -> None:
    """Start the second service, and shorten the timers of the servers' neighbour tables."""
    fabric = _fabric(context)
    fabric.launch("cassandra-1", _on_this_network(context, CASSANDRA_ADDRESS), "02:5a:10:00:00:1f")
    for name in SERVERS:
        settings = [
            f"net.{family}.neigh.{DEVICE}.{key}={value}"
            for family in ("ipv4", "ipv6")
            for key, value in NEIGHBOUR_TABLE_SETTINGS.items()
        ]
        fabric.run(fabric.instances[name].namespace.netns_entry, ["sysctl", "-qw", *settings])
    stack.enter_context(hosts.run_tcp_peer(fabric, "cassandra-1", "serve", str(CASSANDRA_PORT), str(BALANCED_PORT)))
    stack.enter_context(hosts.run_tcp_peer(fabric, "broker-1", "serve", str(BALANCED_PORT)))


def _run_first_owner(context: RunContext) -> None:
    """Let the first owner of the address connect to broker 1 and to Cassandra, and die without closing."""
    fabric = _fabric(context)
    fabric.launch(FIRST_OWNER, _on_this_network(context, REUSED_ADDRESS), FIRST_OWNER_MAC)
    source, target = _on_this_network(context, REUSED_ADDRESS), _on_this_network(context, BROKER_2_ADDRESS)
    never_met = DenyRule(source=source, target=target)
    with faults.network(fabric, replace(fabric.behaviour, denied=(never_met,))):
        broker = fabric.instances["broker-1"].namespace.host
        worker = context.spawn(FIRST_OWNER, {"bootstrap.servers": f"{broker}:{KAFKA_PORT}"})
        worker.send()
        worker.await_report(is_warm_up=True)
        cassandra = _on_this_network(context, CASSANDRA_ADDRESS)
        with hosts.run_tcp_peer(fabric, FIRST_OWNER, "keep", cassandra, str(CASSANDRA_PORT)) as other:
            context.recorder.text(
                "cloud/network-interfaces-before.json", hosts.inventory(fabric), source="inventory", command=INVENTORY
            )
            context.progress(f"{FIRST_OWNER} has delivered a record; now its host dies")
            fabric.terminate(FIRST_OWNER, [worker.program, other])


INVENTORY = "aws ec2 describe-network-interfaces"


def _start_second_owner(context: RunContext, stack: ExitStack, *, balanced: bool) -> Worker:
    """Give the address to another instance. Its flows through the load balancer work at once."""
    fabric = _fabric(context)
    fabric.launch(SECOND_OWNER, _on_this_network(context, REUSED_ADDRESS), SECOND_OWNER_MAC)
    if balanced:
        for server in (BROKER_1_ADDRESS, CASSANDRA_ADDRESS):
            stack.enter_context(
                hosts.run_tcp_peer(fabric, SECOND_OWNER, "keep", _on_this_network(context, server), str(BALANCED_PORT))
            )
    cassandra = _on_this_network(context, CASSANDRA_ADDRESS)
    stack.enter_context(hosts.run_tcp_peer(fabric, SECOND_OWNER, "connect", cassandra, str(CASSANDRA_PORT)))
    context.mark(FAULT_INJECTED)
    return context.spawn(SECOND_OWNER, {})


def _deliver_from_second_owner(
    context: RunContext, second: Worker, *, watched: tuple[str, ...] = ("broker-1", SECOND_OWNER)
) -> None:
    """Let the new owner send a record while the other worker continues, and sample the hosts meanwhile."""
    fabric = _fabric(context)
    cassandra = ("cassandra-1",) if "cassandra-1" in fabric.instances else ()
    looked_at = ("broker-1", "broker-2", *cassandra, UNAFFECTED_WORKER, SECOND_OWNER)
    with hosts.recording_handshakes(context, *watched, ports=(KAFKA_PORT, CASSANDRA_PORT)):
        second.send()
        for seconds in LOOKS_AFTER:
            context.wait(seconds)
            hosts.record_hosts(context, *looked_at)
            context.workers[UNAFFECTED_WORKER].deliver()
        report = second.await_report(is_warm_up=True)
        ended = "delivered" if report.acknowledged else f"failed: {report.result}"
        context.progress(f"The first record of {SECOND_OWNER} was {ended}")
    context.recorder.text(
        "cloud/network-interfaces.json", hosts.inventory(fabric), source="inventory", command=INVENTORY
    )


def _heal(context: RunContext, second: Worker) -> None:
    fabric = _fabric(context)
    context.progress(f"Deleting the entry of {REUSED_ADDRESS} on broker 1: ip neigh del")
    wrong = ["ip", "neigh", "del", _on_this_network(context, REUSED_ADDRESS), "dev", DEVICE]
    fabric.run(fabric.instances["broker-1"].namespace.netns_entry, wrong)
    context.mark(RECOVERED)
    for _ in range(2):
        report = second.deliver()
    context.progress(f"The next records of {SECOND_OWNER} took {report.latency.total_seconds():.1f} s: {report.result}")


def _report_drops(context: RunContext) -> None:
    """Report the frames to the dead instance's MAC that the network dropped."""
    drops = _fabric(context).drops()
    dead = sum(count for drop, count in drops.items() if drop.mac == FIRST_OWNER_MAC)
    context.progress(f"The network dropped {dead} frames to the MAC of {FIRST_OWNER}, which is dead")


def leave_wrong_entry_unused(context: RunContext) -> None:
    """Leave a wrong entry that no connection uses: a risk, but no incident."""
    fabric = _fabric(context)
    with ExitStack() as stack:
        stack.enter_context(neighbour_table.gc_disabled(fabric))
        _prepare(context, stack)
        _run_first_owner(context)
        fabric.launch(SECOND_OWNER, REUSED_ADDRESS, SECOND_OWNER_MAC)
        context.recorder.text(
            "cloud/network-interfaces.json", hosts.inventory(fabric), source="inventory", command=INVENTORY
        )
        for _ in range(3):
            context.workers[UNAFFECTED_WORKER].deliver()
            hosts.record_hosts(context, "broker-1", "broker-2", UNAFFECTED_WORKER, SECOND_OWNER)
        context.wait(context.failure_seconds)


def run_near_miss(context: RunContext, *, fault: Callable[[RunContext], AbstractContextManager[object]]) -> None:
    """Keep an instance with a new address from reaching broker 1, for another reason."""
    fabric = _fabric(context)
    fabric.launch(SECOND_OWNER, REUSED_ADDRESS, SECOND_OWNER_MAC)
    with neighbour_table.gc_threshold(None), fault(context):
        context.mark(FAULT_INJECTED)
        second = context.spawn(SECOND_OWNER, {})
        _deliver_from_second_owner(context, second)
        context.go_on_sending(second)


def _stopped(context: RunContext) -> AbstractContextManager[object]:
    """Kill broker 1: its host answers with a reset."""
    return faults.down(context.cluster.brokers[0], by=signal.SIGKILL)


def _syn_dropped(context: RunContext) -> AbstractContextManager[object]:
    """Drop packets of the new instance in the firewall of broker 1's host."""
    return faults.firewalled(_fabric(context), "broker-1", to=REUSED_ADDRESS, port=KAFKA_PORT)


def _syn_ack_dropped(context: RunContext) -> AbstractContextManager[object]:
    """Drop the answers of broker 1 with a stateless network ACL."""
    fabric = _fabric(context)
    answers = DenyRule(source=BROKER_1_ADDRESS, source_port=KAFKA_PORT, target=REUSED_ADDRESS)
    return faults.network(fabric, replace(fabric.behaviour, denied=(answers,)))


@contextmanager
def _queue_full(context: RunContext) -> Iterator[None]:
    """Freeze broker 1, and let other clients fill its accept queue."""
    fabric, broker = _fabric(context), context.cluster.brokers[0]
    assert broker.program is not None
    with faults.frozen(broker.program), hosts.run_tcp_peer(fabric, "tools", "fill", BROKER_1_ADDRESS, str(KAFKA_PORT)):
        yield


@contextmanager
def _asymmetric(context: RunContext) -> Iterator[None]:
    """Let broker 1 answer through a gateway that drops the packets."""
    fabric = _fabric(context)
    fabric.launch("gateway", GATEWAY_ADDRESS, "02:5a:10:00:00:fe")
    with faults.rerouted(fabric, "broker-1", to=REUSED_ADDRESS, through=GATEWAY_ADDRESS):
        yield


def _black_hole(context: RunContext) -> AbstractContextManager[object]:
    """Let connections open, and drop packets above a size."""
    fabric = _fabric(context)
    return faults.network(fabric, replace(fabric.behaviour, largest=MAX_FRAME_BYTES))


MAX_FRAME_BYTES = 250
"""Bytes of a frame: a handshake fits, a broker's first answer does not."""


@contextmanager
def _wrong_address(context: RunContext) -> Iterator[None]:
    """Give an instance that answers no packet the address that the client uses for a broker."""
    fabric = _fabric(context)
    fabric.launch("other_host", OTHER_HOST_ADDRESS, "02:5a:10:00:00:63")
    with faults.firewalled(fabric, "other_host", to=REUSED_ADDRESS, port=KAFKA_PORT):
        yield


def connect_to_old_address(context: RunContext) -> None:
    """Configure the new instance with an address that was a broker's before."""
    fabric = _fabric(context)
    fabric.launch(SECOND_OWNER, REUSED_ADDRESS, SECOND_OWNER_MAC)
    with neighbour_table.gc_threshold(None), _wrong_address(context):
        context.mark(FAULT_INJECTED)
        second = context.spawn(SECOND_OWNER, {"bootstrap.servers": f"{OTHER_HOST_ADDRESS}:{KAFKA_PORT}"})
        _deliver_from_second_owner(context, second)
        context.go_on_sending(second)


def _variant(description: str, run: Callable[[RunContext], None], layout: NetworkLayout = SITE) -> Variant:
    return Variant(
        description=description,
        run=run,
        workload=Workload(workers=(UNAFFECTED_WORKER,), settings=SETTINGS, settings_by_client=FOR_CLIENT),
        topology=Topology(layout=layout),
        stands_for=STANDS_FOR,
    )


def _near(description: str, fault: Callable[[RunContext], AbstractContextManager[object]]) -> Variant:
    return _variant(description, partial(run_near_miss, fault=fault))


NEAR_MISSES = {
    "broker_stopped": _near("A broker's process is killed: its host answers with a reset", _stopped),
    "syn_dropped": _near("A firewall on the broker's host drops the packets of one client", _syn_dropped),
    "syn_ack_dropped": _near("A network ACL drops the broker's answers to one client", _syn_ack_dropped),
    "queue_full": _near("A broker is frozen and its accept queue is full", _queue_full),
    "asymmetric_route": _near("A broker answers one client through a gateway that drops the packets", _asymmetric),
    "black_hole": _near("Connections open, and large packets are dropped", _black_hole),
    "wrong_address": _variant("A client is configured with a former address of a broker", connect_to_old_address),
    "wrong_entry_unused": _variant(
        "A broker's neighbour entry is wrong, and no connection uses it", leave_wrong_entry_unused
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
    scenario=Scenario(broker_count=2, near_misses=tuple(NEAR_MISSES), stands_for=STANDS_FOR),
    variants={
        "broken": _variant(
            "An instance dies and another gets its address; a flow keeps the entry alive", reuse_address
        ),
        "broken_confirming": _variant(
            "The same on a network that confirms every neighbour entry",
            partial(reuse_address, balanced=False),
            CONFIRMING,
        ),
        "broken_ipv6": _variant("The same with IPv6 and neighbour discovery (NDP)", reuse_address, SITE_IPV6),
        "broken_healed": _variant("The same, and the entry on broker 1 is deleted", partial(reuse_address, heal=True)),
        "cured": _variant(
            "The same, but the servers' kernel deletes unused neighbour entries",
            partial(reuse_address, collector=neighbour_table.gc_enabled, forgotten=True),
        ),
        **NEAR_MISSES,
    },
    recordings=RECORDINGS,
    replica_assignment=((1,),),
)
