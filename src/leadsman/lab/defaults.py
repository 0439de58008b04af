"""Makes `defaults.json` from the programs themselves: `python -m leadsman.lab.defaults [--check]`. Takes two minutes.

Java's defaults are asked of the classes in the jars of each version, librdkafka's of its library, those of the Python
clients of their modules: the last three at the one version that is installed. Nothing is typed by hand.
"""

from __future__ import annotations

import ctypes
import inspect
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leadsman import defaults, jars, java
from leadsman.errors import LabError
from leadsman.lab.process import PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

Table = dict[str, dict[str, str | None]]
"""By program, by setting, the default; None where a setting has none."""

VERSIONS = (
    "2.3.1",
    "2.4.1",
    "2.5.1",
    "2.6.3",
    "2.7.2",
    "2.8.2",
    "3.0.2",
    "3.3.2",
    "3.4.1",
    "3.5.2",
    "3.9.2",
    "4.0.0",
    "4.3.1",
)  # fmt: skip - a list of versions
"""The last fix of each release that changed a default that matters here, and those of the lab."""

LAST_OF_SCALA = (3, 9)
MODULES = (
    "kafka_2.13",
    "kafka-clients",
    "kafka-streams",
    "kafka-server-common",
    "kafka-server",
    "kafka-storage",
    "kafka-storage-api",
    "kafka-raft",
    "kafka-metadata",
    "kafka-group-coordinator",
    "kafka-group-coordinator-api",
    "kafka-coordinator-common",
    "kafka-transaction-coordinator",
    "kafka-share-coordinator",
)  # fmt: skip - a list of modules
"""Not every version has each; a class whose module is missing is not found, and that is no silent failure."""

CLIENTS = {
    "consumer": "org.apache.kafka.clients.consumer.ConsumerConfig",
    "producer": "org.apache.kafka.clients.producer.ProducerConfig",
    "admin": "org.apache.kafka.clients.admin.AdminClientConfig",
    "streams": "org.apache.kafka.streams.StreamsConfig",
}
BROKER_OF_SCALA = "kafka.server.KafkaConfig$"
BROKER = "org.apache.kafka.server.config.AbstractKafkaConfig"


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked of one version."""

    version: str
    told: Table


def make() -> dict[str, Any]:
    """Ask everybody, and return what goes into the file."""
    with tempfile.TemporaryDirectory(prefix="leadsman-defaults-") as scratch:
        asked = [Asked(version, of_java(version, Path(scratch))) for version in VERSIONS]
    asked += [*_of_librdkafka(), *_of_python()]
    programs = dict.fromkeys(program for each in asked for program in each.told)
    return {program: _program([each for each in asked if program in each.told], program) for program in programs}


def of_java(version: str, repository: Path) -> Table:
    """Ask the classes of one version."""
    scala = _numbers(version) <= LAST_OF_SCALA
    wanted = {**CLIENTS, "broker": BROKER_OF_SCALA if scala else BROKER}
    class_path = _class_path(version, repository)
    classes = java.compiled(PROGRAMS / "Defaults.java", class_path)
    options = ["-Djava.io.tmpdir=/tmp"]  # the default of state.dir
    command = java.command("Defaults", [classes, *class_path], heap_mb=128, options=options)
    words = [f"{program}={name}" for program, name in wanted.items()]
    done = subprocess.run([*command, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"Kafka {version} would not say its defaults:\n{done.stderr[-2000:]}")
    return _told(done.stdout.splitlines())


def _told(lines: Iterable[str]) -> Table:
    table: Table = {}
    for line in lines:
        program, name, *value = line.split("\t")
        table.setdefault(program, {})[name] = value[0] if value else None
    return table


def _class_path(version: str, repository: Path) -> list[Path]:
    """Return the jars of a version: those of the lab, or its modules with what those of a neighbour depend on."""
    locked = jars.lock()
    if f"kafka-{version}" in locked:
        found = jars.fetch(f"kafka-{version}")
        return [*found, _had("kafka-streams", version, repository)]
    neighbour = "kafka-2.8.2" if _numbers(version) <= LAST_OF_SCALA else "kafka-4.3.1"
    others = [path for path in jars.fetch(neighbour) if not path.name.startswith("kafka")]
    return [*_modules(version, repository), *others]


def _modules(version: str, repository: Path) -> Iterator[Path]:
    for module in MODULES:
        try:
            yield _had(module, version, repository)
        except (OSError, RuntimeError):
            continue  # no such module in this version


def _had(module: str, version: str, repository: Path) -> Path:
    return jars.resolve(f"org.apache.kafka:{module}:{version}", repository)


def _of_librdkafka() -> Iterator[Asked]:
    """Ask the library that confluent-kafka brings."""
    from confluent_kafka import cimpl, libversion  # noqa: PLC0415 (the lab's extra)

    text, _ = libversion()
    # A library that is loaded already is found by its extension module: the symbols of both are searched.
    library = ctypes.CDLL(cimpl.__file__)
    yield Asked(text, {"librdkafka": {**_dumped(library, "rd_kafka_topic_conf"), **_dumped(library, "rd_kafka_conf")}})


def _dumped(library: ctypes.CDLL, kind: str) -> dict[str, str | None]:
    new, dump = library[f"{kind}_new"], library[f"{kind}_dump"]
    new.restype, dump.restype = ctypes.c_void_p, ctypes.POINTER(ctypes.c_char_p)
    count = ctypes.c_size_t()
    words = dump(ctypes.c_void_p(new()), ctypes.byref(count))
    texts = [words[place].decode() for place in range(count.value)]
    return {name: value for name, value in zip(texts[::2], texts[1::2], strict=True) if not value.startswith("0x")}


def _of_python() -> Iterator[Asked]:
    """Ask the Python clients' own tables and signatures."""
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer  # noqa: PLC0415 (the lab's extra)
    from kafka import KafkaConsumer, KafkaProducer  # noqa: PLC0415 (the same)

    of_kafka_python = {"producer": KafkaProducer.DEFAULT_CONFIG, "consumer": KafkaConsumer.DEFAULT_CONFIG}
    of_aiokafka = {"producer": _signature(AIOKafkaProducer), "consumer": _signature(AIOKafkaConsumer)}
    for name, kinds in (("kafka-python", of_kafka_python), ("aiokafka", of_aiokafka)):
        for kind, table in kinds.items():
            yield Asked(metadata.version(name), {f"{name} {kind}": _plain(table)})


def _signature(client: type) -> dict[str, object]:
    parameters = inspect.signature(client.__init__).parameters.values()  # type: ignore[misc]
    return {each.name: each.default for each in parameters if each.kind is each.KEYWORD_ONLY}


def _plain(table: Mapping[str, object]) -> dict[str, str | None]:
    """Keep what can be written: numbers, words and truth values, not the classes and functions among them."""
    said = {name: value for name, value in table.items() if value is None or isinstance(value, str | int | float)}
    return {name: None if value is None else str(value).lower() for name, value in sorted(said.items())}


def _program(asked: list[Asked], program: str) -> dict[str, Any]:
    names = sorted({name for each in asked for name in each.told[program]})
    settings = {name: list(_changes(name, [(each.version, each.told[program]) for each in asked])) for name in names}
    return {"versions": [each.version for each in asked], "settings": settings}


def _changes(name: str, told: Iterable[tuple[str, Mapping[str, str | None]]]) -> Iterator[list[str | None]]:
    """Yield version and default where either is not as in the version before; the version alone where it is gone."""
    before: object = None
    for version, table in told:
        now: list[str | None] = [table[name]] if name in table else []
        if now != (before if before is not None else []):
            yield [version, *now]
        before = now


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])


def written(made: Mapping[str, Any]) -> str:
    """Return the file's text: a line a setting, so that a difference can be read."""
    programs = [f" {json.dumps(program)}: {{\n{_told_of(told)}\n }}" for program, told in made.items()]
    return "{\n" + ",\n".join(programs) + "\n}\n"


def _told_of(told: Mapping[str, Any]) -> str:
    settings = ",\n".join(f"   {json.dumps(name)}: {json.dumps(each)}" for name, each in told["settings"].items())
    return f'  "versions": {json.dumps(told["versions"])},\n  "settings": {{\n{settings}\n  }}'


def main(words: list[str]) -> int:
    """Write the file, or with --check say whether it is as it would be made."""
    text = written(make())
    if "--check" in words:
        return int(text != defaults.FILE.read_text(encoding="utf-8"))
    defaults.FILE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
