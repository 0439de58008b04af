"""Makes `kafka_defaults.json` from the programs themselves: `python -m leadsman.lab.defaults [--check]`, two minutes.

Java's defaults come from the classes in the jars of each version, librdkafka's from its library, those of the Python
clients from their modules: the last three at the one version that is installed. No value is typed by hand.
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

from leadsman import kafka_defaults
from leadsman.errors import LabError
from leadsman.java import jars, maven, runtime
from leadsman.lab.processes.program import PROGRAMS

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
class VersionDefaults:
    """The defaults of one version."""

    version: str
    table: Table


def read_defaults() -> dict[str, Any]:
    """Read all defaults, and return the content of the file."""
    with tempfile.TemporaryDirectory(prefix="leadsman-defaults-") as scratch:
        by_version = [VersionDefaults(version, read_java(version, Path(scratch))) for version in VERSIONS]
    by_version += [*_read_librdkafka(), *_read_python()]
    programs = dict.fromkeys(program for each in by_version for program in each.table)
    return {program: _program([each for each in by_version if program in each.table], program) for program in programs}


def read_java(version: str, repository: Path) -> Table:
    """Read the defaults of the classes of one version."""
    scala = _numbers(version) <= LAST_OF_SCALA
    classes_by_program = {**CLIENTS, "broker": BROKER_OF_SCALA if scala else BROKER}
    class_path = _class_path(version, repository)
    classes = runtime.compile_source(PROGRAMS / "Defaults.java", class_path)
    options = ["-Djava.io.tmpdir=/tmp"]  # the default of state.dir
    command = runtime.java_command("Defaults", [classes, *class_path], heap_mb=128, options=options)
    arguments = [f"{program}={name}" for program, name in classes_by_program.items()]
    completed = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
    if completed.returncode:
        raise LabError(f"Kafka {version} printed no defaults:\n{completed.stderr[-2000:]}")
    return _parse_output(completed.stdout.splitlines())


def _parse_output(lines: Iterable[str]) -> Table:
    table: Table = {}
    for line in lines:
        program, name, *value = line.split("\t")
        table.setdefault(program, {})[name] = value[0] if value else None
    return table


def _class_path(version: str, repository: Path) -> list[Path]:
    """Return the jars of a version: the lab's, or its modules with the dependencies of a neighbouring version."""
    locked = jars.jar_sets()
    if f"kafka-{version}" in locked:
        locked_jars = jars.fetch_jars(f"kafka-{version}")
        return [*locked_jars, _resolve("kafka-streams", version, repository)]
    neighbour = "kafka-2.8.2" if _numbers(version) <= LAST_OF_SCALA else "kafka-4.3.1"
    others = [path for path in jars.fetch_jars(neighbour) if not path.name.startswith("kafka")]
    return [*_modules(version, repository), *others]


def _modules(version: str, repository: Path) -> Iterator[Path]:
    for module in MODULES:
        try:
            yield _resolve(module, version, repository)
        except (OSError, RuntimeError):
            continue  # no such module in this version


def _resolve(module: str, version: str, repository: Path) -> Path:
    return maven.resolve(f"org.apache.kafka:{module}:{version}", repository)


def _read_librdkafka() -> Iterator[VersionDefaults]:
    """Read the defaults of confluent-kafka's librdkafka."""
    from confluent_kafka import cimpl, libversion

    text, _ = libversion()
    # The library is loaded already and is found through its extension module: the symbols of both are searched.
    library = ctypes.CDLL(cimpl.__file__)
    yield VersionDefaults(
        text, {"librdkafka": {**_dump(library, "rd_kafka_topic_conf"), **_dump(library, "rd_kafka_conf")}}
    )


def _dump(library: ctypes.CDLL, kind: str) -> dict[str, str | None]:
    new, dump = library[f"{kind}_new"], library[f"{kind}_dump"]
    new.restype, dump.restype = ctypes.c_void_p, ctypes.POINTER(ctypes.c_char_p)
    count = ctypes.c_size_t()
    words = dump(ctypes.c_void_p(new()), ctypes.byref(count))
    texts = [words[index].decode() for index in range(count.value)]
    return {name: value for name, value in zip(texts[::2], texts[1::2], strict=True) if not value.startswith("0x")}


def _read_python() -> Iterator[VersionDefaults]:
    """Read the Python clients' own tables and signatures."""
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
    from kafka import KafkaConsumer, KafkaProducer

    kafka_python = {"producer": KafkaProducer.DEFAULT_CONFIG, "consumer": KafkaConsumer.DEFAULT_CONFIG}
    aiokafka = {"producer": _signature(AIOKafkaProducer), "consumer": _signature(AIOKafkaConsumer)}
    for name, kinds in (("kafka-python", kafka_python), ("aiokafka", aiokafka)):
        for kind, table in kinds.items():
            yield VersionDefaults(metadata.version(name), {f"{name} {kind}": _plain(table)})


def _signature(client: type) -> dict[str, object]:
    parameters = inspect.signature(client.__init__).parameters.values()  # type: ignore[misc]
    return {each.name: each.default for each in parameters if each.kind is each.KEYWORD_ONLY}


def _plain(table: Mapping[str, object]) -> dict[str, str | None]:
    """Keep values that JSON can hold: numbers, strings and booleans, not classes and functions."""
    writable = {name: value for name, value in table.items() if value is None or isinstance(value, str | int | float)}
    return {name: None if value is None else str(value).lower() for name, value in sorted(writable.items())}


def _program(by_version: list[VersionDefaults], program: str) -> dict[str, Any]:
    names = sorted({name for each in by_version for name in each.table[program]})
    settings = {
        name: list(_changes(name, [(each.version, each.table[program]) for each in by_version])) for name in names
    }
    return {"versions": [each.version for each in by_version], "settings": settings}


def _changes(name: str, tables: Iterable[tuple[str, Mapping[str, str | None]]]) -> Iterator[list[str | None]]:
    """Yield version and default where the default changed; the version alone where the setting was removed."""
    before: object = None
    for version, table in tables:
        now: list[str | None] = [table[name]] if name in table else []
        if now != (before if before is not None else []):
            yield [version, *now]
        before = now


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])


def render(tables: Mapping[str, Any]) -> str:
    """Return the file's text: one line a setting, so that diffs are readable."""
    programs = [f" {json.dumps(program)}: {{\n{_render_program(table)}\n }}" for program, table in tables.items()]
    return "{\n" + ",\n".join(programs) + "\n}\n"


def _render_program(table: Mapping[str, Any]) -> str:
    settings = ",\n".join(f"   {json.dumps(name)}: {json.dumps(each)}" for name, each in table["settings"].items())
    return f'  "versions": {json.dumps(table["versions"])},\n  "settings": {{\n{settings}\n  }}'


def main(arguments: list[str]) -> int:
    """Write the file, or with --check report by exit code whether it is current."""
    text = render(read_defaults())
    if "--check" in arguments:
        return int(text != kafka_defaults.FILE.read_text(encoding="utf-8"))
    kafka_defaults.FILE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
