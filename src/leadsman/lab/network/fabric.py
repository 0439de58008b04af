"""A cloud's network on one machine: every instance in a network namespace of its own, joined by a switch in user space.

A namespace lives as long as its holder program, and the kernel kills the holder when the lab dies. So nothing is left
behind, whatever happens: no named namespace, no interface. Without root all this runs in a user namespace.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from leadsman.errors import LabError
from leadsman.interrupt import defer_interrupts
from leadsman.lab.processes.program import PROGRAMS, NetworkNamespace, Program
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

READY_TIMEOUT = timedelta(seconds=20)
"""A namespace, an interface or an answer of the switch takes milliseconds, unless the machine is very busy."""

POLL_EVERY = timedelta(milliseconds=5)
"""A namespace is ready within 30 ms; each run of the lab makes a handful."""

DEVICE = "e0"
"""Every instance's interface."""

PREFIX = {4: "/24", 6: "/64 nodad"}
"""Appended to an instance's address. `nodad`: the fabric itself gives no address to two instances."""

NO_NAMESPACES = (
    "The lab cannot make network namespaces here: {error}. It needs root, or user namespaces for everybody.\n"
    "Look: unshare --user --map-root-user --net true\n"
    "Ubuntu 23.10 and newer: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0\n"
    "Docker: --cap-add SYS_ADMIN --cap-add NET_ADMIN --security-opt seccomp=unconfined"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DenyRule:
    """Packets that the network drops without an answer, as a security group or an access list does. 0: any port."""

    source: str
    target: str
    source_port: int = 0
    target_port: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkBehaviour:
    """How the network behaves.

    `unicast` is its answer to a unicast ARP request, which checks one MAC: "silent", "confirm" (always yes) or "truth".
    `balanced` are ports behind a load balancer that keeps client addresses: it tracks its flows, so their packets
    arrive whatever their MAC. `largest` drops longer packets; 0: none.
    """

    unicast: str = "silent"
    balanced: tuple[int, ...] = ()
    denied: tuple[DenyRule, ...] = ()
    largest: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkLayout:
    """Address and MAC at the start of an experiment: of each broker and controller by id, and of each worker by name.

    `tools` is the instance of the lab's own admin clients and tools.
    """

    brokers: Mapping[int, tuple[str, str]]
    workers: Mapping[str, tuple[str, str]]
    tools: tuple[str, str]
    behaviour: NetworkBehaviour = NetworkBehaviour()


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedFrame:
    """A frame that the switch did not deliver: the reason, and its MAC and addresses."""

    reason: str
    mac: str
    source: str
    target: str
    target_port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkInstance:
    """A running instance. `launched` is its time in the inventory; its identifiers are made from `number`."""

    name: str
    namespace: NetworkNamespace
    mac: str
    launched: datetime
    number: int
    holder: Program


@dataclass(slots=True)
class Fabric:
    """The switch and its instances. As a context manager: running inside, stopped afterwards."""

    behaviour: NetworkBehaviour = field(default_factory=NetworkBehaviour)
    instances: dict[str, NetworkInstance] = field(default_factory=dict)
    _number: int = 0
    _folder: Path = Path()
    _holder: Program | None = None
    _switch: Program | None = None
    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="leadsman-fabric-")))
            self._holder = self._start_holder("fabric", "new", stack)
            command = [sys.executable, "-I", "-S", str(PROGRAMS / "switch.py")]
            with defer_interrupts():
                self._switch = stack.enter_context(
                    Program.start("switch", command, folder=self._folder, errors=self.log, netns_entry=self.netns_entry)
                )
            self._configure_switch()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self.instances):
            self.instances.pop(name).holder.kill()
        self._stack.close()

    @property
    def log(self) -> Path:
        """The switch's log of dropped frames."""
        return self._folder / "switch.log"

    @property
    def netns_entry(self) -> str:
        """The launcher's argument for the switch's own network."""
        assert self._holder is not None
        return str(self._holder.popen.pid)

    def change(self, behaviour: NetworkBehaviour) -> None:
        """Change the network's behaviour from now on."""
        self.behaviour = behaviour
        self._configure_switch()

    def launch(self, name: str, address: str, mac: str) -> NetworkInstance:
        """Start an instance with this address, and add it to the network."""
        holder = self._start_holder(name, f"new@{self.netns_entry}")
        namespace = NetworkNamespace(address=address, holder_pid=holder.popen.pid)
        self._number += 1
        instance = NetworkInstance(
            name=name, namespace=namespace, mac=mac, launched=datetime.now(UTC), number=self._number, holder=holder
        )
        self.instances[name] = instance
        self._plug_in(instance)
        self._configure_switch()
        return instance

    def _plug_in(self, instance: NetworkInstance) -> None:
        port, holder, mac = _port(instance.name), instance.holder.popen.pid, instance.mac
        self._ip(
            self.netns_entry,
            f"link add {port} type veth peer name {DEVICE} address {mac} netns {holder}",
            f"link set {port} addrgenmode none up",
        )
        address = instance.namespace.address
        self._ip(
            instance.namespace.netns_entry,
            "link set lo up",
            f"link set {DEVICE} addrgenmode none up",
            f"address add {address}{PREFIX[ip_address(address).version]} dev {DEVICE}",
        )

    def terminate(self, name: str, programs: Sequence[Program] = ()) -> None:
        """Stop an instance as when its host dies: unplugged first, so that no FIN or RST leaves it."""
        instance = self.instances.pop(name)
        self._configure_switch()
        self._ip(self.netns_entry, f"link delete {_port(name)}")
        for program in programs:
            program.kill()
        instance.holder.kill()

    def run(self, netns_entry: str, command: Sequence[str], *, text: str | None = None) -> str:
        """Run a short command in an instance's network (`netns_entry` of its namespace) and return its output."""
        errors = self._folder / "commands.log"
        with (
            defer_interrupts(),
            Program.start(command[0], command, folder=self._folder, errors=errors, netns_entry=netns_entry) as program,
        ):
            stdout, _ = program.popen.communicate(text, timeout=READY_TIMEOUT.total_seconds())
            if program.popen.returncode:
                log_end = errors.read_text(encoding="utf-8", errors="replace")[-1500:]
                raise LabError(f"{' '.join(command)} failed in the lab's network: {log_end}{text or ''}")
        return stdout

    def drops(self) -> Counter[DroppedFrame]:
        """Count the frames that were not delivered."""
        lines = self.log.read_text(encoding="utf-8").splitlines()
        return Counter(_dropped_frame(json.loads(line)) for line in lines if line.startswith("{"))

    def _ip(self, netns_entry: str, *commands: str) -> None:
        self.run(netns_entry, ["ip", "-batch", "-"], text="".join(f"{command}\n" for command in commands))

    def _start_holder(self, name: str, netns_entry: str, stack: ExitStack | None = None) -> Program:
        """Start a program that only keeps a namespace alive, and wait until it has entered that namespace."""
        errors = self._folder / "holders.log"
        own = Path("/proc/self/ns/net").stat().st_ino
        with defer_interrupts():
            program = Program.start(
                f"network of {name}", ["cat"], folder=self._folder, errors=errors, netns_entry=netns_entry
            )
            if stack is not None:
                stack.enter_context(program)

        def has_entered() -> bool:
            if not program.is_running:
                raise LabError(NO_NAMESPACES.format(error=(errors.read_text().strip().splitlines() or ["?"])[-1]))
            comm = Path(f"/proc/{program.popen.pid}/comm").read_text(encoding="utf-8").strip()
            return comm == "cat" and Path(f"/proc/{program.popen.pid}/ns/net").stat().st_ino != own

        try:
            wait_for(has_entered, timeout=READY_TIMEOUT, what=f"a network for {name}", every=POLL_EVERY, error=LabError)
        except BaseException:
            program.kill()
            raise
        return program

    def _configure_switch(self) -> None:
        """Send the switch the network's present state, and wait until it has applied that."""
        assert self._switch is not None
        state = {
            "instances": {
                _port(each.name): {"mac": each.mac, "addresses": [each.namespace.address]}
                for each in self.instances.values()
            },
            **asdict(self.behaviour),
            "denied": [[d.source, d.source_port, d.target, d.target_port] for d in self.behaviour.denied],
        }
        self._switch.write_line(json.dumps(state))
        if self._switch.output.readline() != "ok\n":
            raise LabError(f"The lab's switch ended: {self.log.read_text(encoding='utf-8')[-1500:]}")


def _port(name: str) -> str:
    """Name the switch's end of an instance's cable. The kernel allows 15 characters."""
    return f"p-{name}"[:15]


def _dropped_frame(record: Mapping[str, Any]) -> DroppedFrame:
    target, port = record["to"]
    return DroppedFrame(
        reason=record["why"], mac=record["mac"], source=record["from"][0], target=target, target_port=port
    )
