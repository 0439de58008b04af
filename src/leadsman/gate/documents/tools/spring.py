"""Spring Boot's `application.yml` and `application.properties`, with profiles: `spring.kafka.*`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.documents.interpreter import Tool, config_resource, setting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.gate.documents.tree import Document, Leaf
    from leadsman.gate.facts import ConfigResource, Setting

KINDS = {"producer": "producer", "consumer": "consumer", "admin": "admin", "streams": "streams"}
OWN_NAMES = {
    "bootstrap-servers": "bootstrap.servers",
    "transaction-id-prefix": "transaction.id.prefix",
    "enable-auto-commit": "enable.auto.commit",
    "replication-factor": "replication.factor",
}
CLOUD_STREAM = ("spring", "cloud", "stream", "kafka", "binder")


def _find(document: Document, _path: str) -> Iterator[ConfigResource]:
    yield from spring_clients(document.leaves())


def spring_clients(leaves: list[Leaf]) -> Iterator[ConfigResource]:
    """Yield the clients that properties of Spring configure."""
    by_kind: dict[str, dict[str, Setting]] = {}
    for leaf in leaves:
        for kind, name in _settings(leaf):
            by_kind.setdefault(kind, {})[name] = setting(name, leaf)
    common = by_kind.pop("client", {})
    for kind, settings in by_kind.items():
        yield config_resource(
            kind, {**common, **settings}, next(iter(settings.values())).span, defaults=kind, name="Spring"
        )
    if common and not by_kind:
        yield config_resource("client", common, next(iter(common.values())).span, name="Spring")


def _settings(leaf: Leaf) -> Iterator[tuple[str, str]]:
    path = leaf.path
    if path[:2] == ("spring", "kafka"):
        yield from _boot(path[2:])
    elif path[: len(CLOUD_STREAM)] == CLOUD_STREAM:
        rest = path[len(CLOUD_STREAM) :]
        kinds = {"producer-properties": "producer", "consumer-properties": "consumer", "configuration": "client"}
        if len(rest) > 1 and rest[0] in kinds:
            yield kinds[rest[0]], ".".join(rest[1:])


def _boot(path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    if path[0] == "properties":
        yield "client", ".".join(path[1:])
    elif path[0] in KINDS and len(path) > 1:
        if path[1] == "properties":
            yield KINDS[path[0]], ".".join(path[2:])
        else:
            name = "-".join(path[1:])  # of a variable: each of its words is a part
            yield KINDS[path[0]], OWN_NAMES.get(name, name.replace("-", "."))


TOOL = Tool(formats=("yaml", "properties"), find=_find)
