"""A cloud's network on one machine: every instance in a network namespace of its own, joined by a switch in user space.

A namespace lives as long as the program that holds it, and the kernel kills that one when the lab dies. So nothing is
left behind, whatever happens: no named namespace, no interface. Whoever is not root gets all this in a user namespace.
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
from leadsman.interrupt import undisturbed
from leadsman.lab.process import PROGRAMS, Place, Program
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DONE_WITHIN = timedelta(seconds=20)
"""A namespace, an interface or an answer of the switch takes milliseconds, unless the machine is very busy."""

QUICKLY = timedelta(milliseconds=5)
"""A namespace is there within 30 ms; each run of the lab makes a handful."""

DEVICE = "e0"
"""Every instance's interface."""

PREFIX = {4: "/24", 6: "/64 nodad"}
"""What follows an instance's address. The network itself sees to it that no address is given away twice."""

WITHOUT = (
    "The lab cannot make network namespaces here: {error}. It needs root, or user namespaces for everybody.\n"
    "Look: unshare --user --map-root-user --net true\n"
    "Ubuntu 23.10 and newer: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0\n"
    "Docker: --cap-add SYS_ADMIN --cap-add NET_ADMIN --security-opt seccomp=unconfined"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Denied:
    """Packets that the network drops without a word, as a security group or an access list does. 0: any port."""

    source: str
    target: str
    source_port: int = 0
    target_port: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """How the network behaves.

    `unicast` is its answer to ARP sent to one MAC, asking whether that still holds: "silent", "confirm" (yes, whoever
    is asked), or "truth". `balanced` are ports behind a load balancer that keeps client addresses: it tracks its flows,
    so their packets arrive whatever MAC they name. `largest` drops longer packets; 0: none.
    """

    unicast: str = "silent"
    balanced: tuple[int, ...] = ()
    denied: tuple[Denied, ...] = ()
    largest: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Who is where when an experiment begins: address and MAC of each broker and controller by id, and of each worker.

    `tools` is the instance from which the lab itself asks the cluster.
    """

    brokers: Mapping[int, tuple[str, str]]
    workers: Mapping[str, tuple[str, str]]
    tools: tuple[str, str]
    ways: Ways = Ways()


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """A frame that the switch did not deliver: why, and to which MAC and address."""

    why: str
    mac: str
    source: str
    target: str
    target_port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """A running instance. `launched` is the inventory's; `number` is behind its identifiers."""

    name: str
    place: Place
    mac: str
    launched: datetime
    number: int
    holder: Program


@dataclass(slots=True)
class Fabric:
    """The switch and its instances. As a context manager: up inside, gone afterwards."""

    ways: Ways = field(default_factory=Ways)
    instances: dict[str, Instance] = field(default_factory=dict)
    _number: int = 0
    _folder: Path = Path()
    _holder: Program | None = None
    _switch: Program | None = None
    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="leadsman-fabric-")))
            self._holder = self._hold("fabric", "new", stack)
            command = [sys.executable, "-I", "-S", str(PROGRAMS / "switch.py")]
            with undisturbed():
                self._switch = stack.enter_context(
                    Program.start("switch", command, folder=self._folder, errors=self.log, way=self.way)
                )
            self._tell()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self.instances):
            self.instances.pop(name).holder.kill()
        self._stack.close()

    @property
    def log(self) -> Path:
        """What the switch dropped."""
        return self._folder / "switch.log"

    @property
    def way(self) -> str:
        """The way into the switch's own network."""
        assert self._holder is not None
        return str(self._holder.popen.pid)

    def change(self, ways: Ways) -> None:
        """Behave otherwise from now on."""
        self.ways = ways
        self._tell()

    def launch(self, name: str, address: str, mac: str) -> Instance:
        """Start an instance with this address, and let the network know it."""
        holder = self._hold(name, f"new@{self.way}")
        place = Place(address=address, holder=holder.popen.pid)
        self._number += 1
        instance = Instance(
            name=name, place=place, mac=mac, launched=datetime.now(UTC), number=self._number, holder=holder
        )
        self.instances[name] = instance
        self._plug_in(instance)
        self._tell()
        return instance

    def _plug_in(self, instance: Instance) -> None:
        port, holder, mac = _port(instance.name), instance.holder.popen.pid, instance.mac
        self._ip(
            self.way,
            f"link add {port} type veth peer name {DEVICE} address {mac} netns {holder}",
            f"link set {port} addrgenmode none up",
        )
        address = instance.place.address
        self._ip(
            instance.place.way,
            "link set lo up",
            f"link set {DEVICE} addrgenmode none up",
            f"address add {address}{PREFIX[ip_address(address).version]} dev {DEVICE}",
        )

    def terminate(self, name: str, programs: Sequence[Program] = ()) -> None:
        """Let an instance die as when its host dies: unplugged first, so that nobody is told of it."""
        instance = self.instances.pop(name)
        self._tell()
        self._ip(self.way, f"link delete {_port(name)}")
        for program in programs:
            program.kill()
        instance.holder.kill()

    def run(self, way: str, command: Sequence[str], *, text: str | None = None) -> str:
        """Run a short command in an instance's network (`way` is its place's) and return what it prints."""
        errors = self._folder / "commands.log"
        with undisturbed(), Program.start(command[0], command, folder=self._folder, errors=errors, way=way) as program:
            printed, _ = program.popen.communicate(text, timeout=DONE_WITHIN.total_seconds())
            if program.popen.returncode:
                said = errors.read_text(encoding="utf-8", errors="replace")[-1500:]
                raise LabError(f"{' '.join(command)} failed in the lab's network: {said}{text or ''}")
        return printed

    def drops(self) -> Counter[Drop]:
        """Count the frames that were not delivered."""
        lines = self.log.read_text(encoding="utf-8").splitlines()
        return Counter(_drop(json.loads(line)) for line in lines if line.startswith("{"))

    def _ip(self, way: str, *commands: str) -> None:
        self.run(way, ["ip", "-batch", "-"], text="".join(f"{command}\n" for command in commands))

    def _hold(self, name: str, way: str, stack: ExitStack | None = None) -> Program:
        """Start a program that does nothing but hold a namespace, and wait until it is in it."""
        errors = self._folder / "holders.log"
        own = Path("/proc/self/ns/net").stat().st_ino
        with undisturbed():
            program = Program.start(f"network of {name}", ["cat"], folder=self._folder, errors=errors, way=way)
            if stack is not None:
                stack.enter_context(program)

        def apart() -> bool:
            if not program.running:
                raise LabError(WITHOUT.format(error=(errors.read_text().strip().splitlines() or ["?"])[-1]))
            comm = Path(f"/proc/{program.popen.pid}/comm").read_text(encoding="utf-8").strip()
            return comm == "cat" and Path(f"/proc/{program.popen.pid}/ns/net").stat().st_ino != own

        try:
            wait_for(apart, within=DONE_WITHIN, what=f"a network for {name}", every=QUICKLY, error=LabError)
        except BaseException:
            program.kill()
            raise
        return program

    def _tell(self) -> None:
        """Tell the switch how the network is, and wait until it is so."""
        assert self._switch is not None
        told = {
            "instances": {
                _port(each.name): {"mac": each.mac, "addresses": [each.place.address]}
                for each in self.instances.values()
            },
            **asdict(self.ways),
            "denied": [[d.source, d.source_port, d.target, d.target_port] for d in self.ways.denied],
        }
        self._switch.tell(json.dumps(told))
        if self._switch.output.readline() != "ok\n":
            raise LabError(f"The lab's switch ended: {self.log.read_text(encoding='utf-8')[-1500:]}")


def _port(name: str) -> str:
    """Name the switch's end of an instance's cable. The kernel allows 15 characters."""
    return f"p-{name}"[:15]


def _drop(told: Mapping[str, Any]) -> Drop:
    target, port = told["to"]
    return Drop(why=told["why"], mac=told["mac"], source=told["from"][0], target=target, target_port=port)
