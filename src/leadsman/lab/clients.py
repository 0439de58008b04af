"""The Kafka clients that can take part in an experiment, and one worker of any of them.

Settings are given under the names of Kafka's Java documentation; each client's own names are made here.
"""

from __future__ import annotations

import json
import queue
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from importlib import metadata
from typing import TYPE_CHECKING, Self

from leadsman import jars, java
from leadsman.errors import LabError, ProgramDidNotAnswer
from leadsman.lab.cluster import CLOCK
from leadsman.lab.ledger import Told
from leadsman.lab.process import HERE, PROGRAMS, SOURCES, Place, Program

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

NEWEST_JAVA = "4.3.1"

ANSWER_WITHIN = timedelta(seconds=90)
"""Longer than the programs' own patience (talking.ANSWER_SECONDS), so that they can say what happened."""

QUIT_WITHIN = timedelta(seconds=10)

SETUP = frozenset({"socket.connection.setup.timeout.ms", "socket.connection.setup.timeout.max.ms"})
AIOKAFKA_LACKS = frozenset({"retries", "delivery.timeout.ms", "max.block.ms"}) | SETUP
"""It retries until the request times out, waits as long for a connection, and can be told none of it.

kafka-python cannot be told how long to wait for a connection either."""

Translated = tuple[dict[str, object], tuple[str, ...]]
"""A client's own settings, and those of the wanted ones that it has no name for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One client library at one version. `library` is how its documentation calls it."""

    name: str
    version: str
    library: str
    translate: Callable[[Mapping[str, str]], Translated]
    command: Callable[[Sequence[str], Mapping[str, object], Path], list[str]]

    @property
    def label(self) -> str:
        """Name and version: java@4.3.1."""
        return f"{self.name}@{self.version}"


def client(wanted: str) -> Client:
    """Return the client called `java`, `java@2.7.2`, `confluent-kafka`, `kafka-python` or `aiokafka`."""
    name, _, version = wanted.partition("@")
    if name == "java":
        return _java(version or NEWEST_JAVA)
    if name not in PYTHON_CLIENTS:
        raise LabError(f"The lab has no client {wanted}. It has: {', '.join(names())}.")
    try:
        installed = metadata.version(name)
    except metadata.PackageNotFoundError as error:
        raise LabError(f"{name} is not installed. Install it: pip install 'leadsman[lab]'") from error
    if version not in {"", installed}:
        raise LabError(f"{name} is installed at {installed}, not {version}: only java can be had at a version.")
    module, translate = PYTHON_CLIENTS[name]
    return Client(name=name, version=installed, library=name, translate=translate, command=python_command(module))


def names() -> tuple[str, ...]:
    """Every name that `client` takes: Java at each version in the lock, and the Python clients."""
    versions = sorted(name.removeprefix("clients-") for name in jars.lock() if name.startswith("clients-"))
    return ("java", *(f"java@{version}" for version in versions), *PYTHON_CLIENTS)


def compile_programs() -> list[Path]:
    """Compile the Java program against every client version of the lock, so that a first run need not."""
    versions = [name for name in jars.lock() if name.startswith("clients-")]
    return [java.compiled(PROGRAMS / "Talk.java", jars.fetch(name)) for name in versions]


def _java(version: str) -> Client:
    if f"clients-{version}" not in jars.lock():
        raise LabError(f"The lab has no Java client {version}. It has: {', '.join(names())}.")

    def command(call: Sequence[str], settings: Mapping[str, object], log: Path) -> list[str]:
        class_path = jars.fetch(f"clients-{version}")
        classes = java.compiled(PROGRAMS / "Talk.java", class_path)
        logging = [f"-Dlog4j.configuration=file:{PROGRAMS / 'log4j.properties'}", f"-Dclient.log={log}"]
        program = java.command("Talk", [classes, *class_path], heap_mb=64, options=logging)
        return [*program, *call, *(f"{name}={value}" for name, value in settings.items())]

    return Client(
        name="java", version=version, library="kafka-clients", translate=lambda s: (dict(s), ()), command=command
    )


def python_command(module: str) -> Callable[[Sequence[str], Mapping[str, object], Path], list[str]]:
    """Return how a program of the lab is called: worker, topic, log file, settings as JSON."""

    def command(call: Sequence[str], settings: Mapping[str, object], log: Path) -> list[str]:
        program = [sys.executable, "-m", f"leadsman.lab.programs.{module}"]
        return [*program, *call, str(log), json.dumps(settings)]

    return command


def _with_dots(settings: Mapping[str, str]) -> Translated:
    """Keep Java's names: librdkafka takes them as aliases where its own differ."""
    return dict(settings), ()


def _with_underscores(settings: Mapping[str, str], lacks: frozenset[str] = frozenset()) -> Translated:
    known = {name.replace(".", "_"): _typed(value) for name, value in settings.items() if name not in lacks}
    return known, tuple(sorted(lacks & settings.keys()))


def _typed(value: str) -> object:
    """Return the number or truth value that a Python client wants where Java's documentation writes text."""
    if value in {"true", "false"}:
        return value == "true"
    return int(value) if value.lstrip("-").isdigit() else value


PYTHON_CLIENTS: Mapping[str, tuple[str, Callable[[Mapping[str, str]], Translated]]] = {
    "confluent-kafka": ("talk_confluent", _with_dots),
    "kafka-python": ("talk_kafka_python", lambda settings: _with_underscores(settings, SETUP)),
    "aiokafka": ("talk_aiokafka", lambda settings: _with_underscores(settings, AIOKAFKA_LACKS)),
}


@dataclass(slots=True, kw_only=True)
class Worker:
    """One running program of a client, and everything it was told about its records."""

    name: str
    program: Program
    log: Path
    told: list[Told] = field(default_factory=list)
    most_held: int = 1
    """The most producers that it has held at one time."""
    _answers: queue.Queue[tuple[float, dict[str, object] | None]] = field(default_factory=queue.Queue)
    """With the moment at which each came: a play can be busy with something else then."""
    _sent: int = 0
    _sent_at: float = 0.0

    @classmethod
    def start(
        cls,
        name: str,
        client: Client,
        *,
        topic: str,
        settings: Mapping[str, object],
        folder: Path,
        place: Place = HERE,
        hold: str = "1",
    ) -> Self:
        """Start a program in `folder`, where its log will be. It is ready when it has answered for its first record.

        `hold`: how many producers it holds; `record` for a new one a record.
        """
        log = folder / f"{name}.log"
        own = {
            key: value.replace("{worker}", name) if isinstance(value, str) else value for key, value in settings.items()
        }
        command = client.command((name, topic, hold), own, log)
        environment = {"PYTHONPATH": str(SOURCES), **CLOCK}
        errors = folder / f"{name}.err"
        program = Program.start(name, command, folder=folder, errors=errors, environment=environment, way=place.way)
        worker = cls(name=name, program=program, log=log, most_held=_held(hold))
        threading.Thread(target=worker._listen, name=f"{name}-answers", daemon=True).start()
        return worker

    def _listen(self) -> None:
        with suppress(ValueError, OSError):  # its output was closed under us: it was killed
            for line in self.program.output:
                if line.startswith("{"):
                    self._answers.put((time.monotonic(), json.loads(line)))
        self._answers.put((time.monotonic(), None))

    def hold(self, how: str) -> None:
        """Have it hold so many producers from now on; `record` for a new one a record."""
        self.most_held = max(self.most_held, _held(how))
        self.program.tell(f"hold {how}")

    def send(self, *, size: int = 0, block: timedelta = timedelta(0)) -> None:
        """Hand it its next event, its value padded to `size`. Each needs an `answer` before the next is sent.

        `block`: when that record is acknowledged, its callback keeps the producer's I/O thread for so long (Java only).
        """
        self._sent += 1
        self._sent_at = time.monotonic()
        self.program.tell(f"send {self._sent} {size} {block // timedelta(milliseconds=1)}")

    def answer(self, *, within: timedelta = ANSWER_WITHIN, first: bool = False) -> Told:
        """Wait for what became of the event, and keep it. ProgramDidNotAnswer if the program ended instead."""
        try:
            at, answer = self._answers.get(timeout=within.total_seconds())
        except queue.Empty:
            at, answer = time.monotonic(), {"result": ""}
        took = timedelta(seconds=at - self._sent_at)
        if answer is None:
            raise ProgramDidNotAnswer(
                f"{self.name} ended before it answered for event {self._sent}:\n{self._last_words()}"
            )
        value = f"{self.name}:{self._sent}"
        self.told.append(Told(worker=self.name, value=value, result=str(answer["result"]), took=took, first=first))
        return self.told[-1]

    def _last_words(self) -> str:
        places = (self.log.with_suffix(".err"), self.log)
        return "\n".join(path.read_text(errors="replace")[-1500:] for path in places if path.exists())

    def deliver(self, *, size: int = 0, block: timedelta = timedelta(0)) -> Told:
        """Send, and wait for the answer."""
        self.send(size=size, block=block)
        return self.answer()

    def quit(self) -> None:
        """Let it end in order, so that its last lines are in its log."""
        self.program.tell("quit")
        with suppress(LabError):
            self.program.ended(within=QUIT_WITHIN)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.program.kill()


def _held(how: str) -> int:
    return 1 if how == "record" else int(how)
