"""Services that process a topic, and the source that fills it: what an experiment watches beside its producers.

A service is a Java program at any client version of the lock. It says what it has processed, so that its harm is
measured by itself: records that nobody processed, processed twice or late, and consumers that died.
"""

from __future__ import annotations

import json
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Self

from leadsman import jars, java
from leadsman.errors import LabError
from leadsman.lab.node import CLOCK
from leadsman.lab.process import HERE, PROGRAMS, Place, Program
from leadsman.model import Harm
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

READY_WITHIN = timedelta(seconds=90)
"""Until a service has processed its first record: 4 s quiet, a minute where two cores start ten JVMs."""

QUIT_WITHIN = timedelta(seconds=90)
"""A source waits a minute for its last acknowledgements."""

RATE = 50
"""Records a second: enough that every commit has something to commit."""


OF_CONSUMER = frozenset({"default.api.timeout.ms", "max.poll.interval.ms", "max.poll.records"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """What is wanted: a name, which is its group's too, `streams` or `consumer`, and its settings.

    `client` names the version of the Java client; empty: the one that the run is about. `supervised`: what dies is
    started anew.
    """

    name: str
    kind: str
    settings: Mapping[str, str] = field(default_factory=dict)
    client: str = ""
    supervised: bool = False


def versions() -> tuple[str, ...]:
    """Return the Java client versions that a service can run with."""
    return tuple(name.removeprefix("streams-") for name in jars.lock() if name.startswith("streams-"))


def class_path(version: str) -> list[Path]:
    """Return the program, compiled, and the jars of a version."""
    if version not in versions():
        raise LabError(f"The lab has no Streams {version}. It has: {', '.join(versions())}.")
    jars_ = jars.fetch(f"streams-{version}")
    return [java.compiled(PROGRAMS / "Process.java", jars_), *jars_]


ENDED = frozenset({"DEAD", "ERROR", "NOT_RUNNING"})
"""States of a service that processes no more."""


@dataclass(slots=True, kw_only=True)
class Running:
    """A service that runs, or its source: its program, its log, and the last that it said of itself."""

    name: str
    program: Program
    log: Path
    version: str = ""
    last: dict[str, object] = field(default_factory=dict)

    def said(self, key: str) -> int:
        """Return a number that it said last; 0 before it said anything."""
        return int(str(self.last.get(key, 0)))

    @property
    def dead(self) -> bool:
        """Whether nothing of it processes any more."""
        return self.last.get("state") in ENDED

    def wait_until_processing(self) -> None:
        """Wait for its first record."""
        wait_for(lambda: self.said("processed"), within=READY_WITHIN, what=f"{self.name} to process", error=LabError)

    def begin(self) -> None:
        """Tell it that its start is over: what was sent before waited for the start, and is not late."""
        self.program.tell("begin")

    def quit(self) -> None:
        """Ask it to end, and wait until it has said its last."""
        self.program.tell("quit")
        with suppress(LabError):
            self.program.ended(within=QUIT_WITHIN)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.program.kill()


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """Where services run: the brokers' addresses, their topic, the folder of their logs, and the network."""

    bootstrap: str
    topic: str
    folder: Path
    place: Place = HERE

    def start(self, wanted: Sequence[Service], *, version: str, groups: Mapping[str, str]) -> list[Running]:
        """Start services in one process, whose log is named for the first of them."""
        log = self.folder / f"{wanted[0].name}.log"
        logging = [f"-Dlog4j.configuration=file:{PROGRAMS / 'log4j.properties'}", f"-Dclient.log={log}"]
        heap_mb = 64 + 32 * len(wanted)
        program = java.command("Process", class_path(version), heap_mb=heap_mb, options=logging)
        words = [word for each in wanted for word in ("--", *self._call(each, groups[each.name]))]
        names = [each.name for each in wanted]
        return _started(names, [*program, *words[1:]], log=log, version=version, way=self.place.way)

    def source(self, settings: Mapping[str, str]) -> Running:
        """Start what fills the topic."""
        own = {"bootstrap.servers": self.bootstrap, "acks": "all", "log_level": 0, **settings}
        command = [sys.executable, str(PROGRAMS / "produce.py"), self.topic, str(RATE), json.dumps(own)]
        (source,) = _started(["source"], command, log=self.folder / "source.log", way=self.place.way)
        return source

    def _call(self, wanted: Service, group: str) -> list[str]:
        own = {"bootstrap.servers": self.bootstrap, "auto.offset.reset": "earliest"}
        settings = {**own, **_of_kind(wanted, group, self.folder), **_named(wanted)}
        call = [wanted.name, self.topic, wanted.kind, str(wanted.supervised).lower()]
        return [*call, *(f"{name}={value}" for name, value in settings.items())]


def _started(
    names: Sequence[str], command: Sequence[str], *, log: Path, version: str = "", way: str = HERE.way
) -> list[Running]:
    errors = log.with_suffix(".err")
    program = Program.start(names[0], command, folder=log.parent, errors=errors, environment=CLOCK, way=way)
    running = {name: Running(name=name, program=program, log=log, version=version) for name in names}
    threading.Thread(target=_listen, args=(program, running), name=f"{names[0]}-says", daemon=True).start()
    return list(running.values())


def _listen(program: Program, running: Mapping[str, Running]) -> None:
    with suppress(ValueError, OSError):  # its output was closed under us: it was killed
        for line in program.output:
            if line.startswith("{"):
                said = json.loads(line)
                running[said["name"]].last = said


def _named(wanted: Service) -> dict[str, str]:
    """Return its settings as Streams wants them: unprefixed, a commit's patience below 30 s stops its admin client."""
    prefix = "consumer." if wanted.kind == "streams" else ""
    return {f"{prefix}{name}" if name in OF_CONSUMER else name: value for name, value in wanted.settings.items()}


def _of_kind(wanted: Service, group: str, folder: Path) -> dict[str, str]:
    if wanted.kind == "consumer":
        return {"group.id": group, "enable.auto.commit": "false"}
    return {
        "application.id": group,
        "commit.interval.ms": "500",
        "num.stream.threads": "1",
        "state.dir": str(folder / "state" / wanted.name),
    }


def harm(source: Running, services: Sequence[Running]) -> dict[Harm, int]:
    """Say what became of the acknowledged records: each service should have processed each, once and soon."""
    return harm_said(source.said("acknowledged"), [service.last for service in services])


def harm_said(offered: int, said: Sequence[Mapping[str, object]]) -> dict[Harm, int]:
    """Say the same of what services said last, when so many records had been acknowledged."""

    def number(last: Mapping[str, object], key: str) -> int:
        return int(str(last.get(key, 0)))

    return {
        Harm.DUPLICATED: sum(number(last, "twice") for last in said),
        Harm.DELAYED: sum(number(last, "late") for last in said),
        Harm.STALLED: sum(max(0, offered - number(last, "processed")) for last in said),
        Harm.DIED: sum(last.get("state") in ENDED for last in said),
    }
