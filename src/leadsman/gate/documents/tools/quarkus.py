"""Quarkus and MicroProfile: `mp.messaging.outgoing.CHANNEL.*`, `kafka.*`, `kafka-streams.*`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.documents.interpreter import Tool, config_resource, setting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.gate.documents.tree import Document, Leaf
    from leadsman.gate.facts import ConfigResource, Setting

CONNECTOR = "smallrye-kafka"
DIRECTIONS = {"outgoing": "producer", "incoming": "consumer"}
TEST_PROFILES = frozenset({"%dev", "%test"})
"""Profiles of Quarkus that are not deployed."""

CHANNEL_INDEX = 3
"""`mp.messaging.outgoing.CHANNEL`: the settings are below the channel's name."""


def _find(document: Document, _path: str) -> Iterator[ConfigResource]:
    yield from channels(document.leaves())


def channels(leaves: list[Leaf]) -> Iterator[ConfigResource]:
    """Yield the clients of channels; settings of a profile, `%prod.`, count as set."""
    found: dict[tuple[str, str], dict[str, Setting]] = {}
    common: dict[str, Setting] = {}
    for leaf in leaves:
        path = tuple(each.strip('"') for each in leaf.path)
        if path[0] in TEST_PROFILES:
            continue
        path = path[1:] if path[0].startswith("%") and len(path) > 1 else path
        if path[:2] == ("mp", "messaging") and len(path) > CHANNEL_INDEX + 1 and path[2] in DIRECTIONS:
            name = ".".join(path[CHANNEL_INDEX + 1 :])
            found.setdefault((DIRECTIONS[path[2]], path[CHANNEL_INDEX]), {})[name] = setting(name, leaf)
        elif path[0] == "kafka-streams":
            name = ".".join(path[1:])
            found.setdefault(("streams", ""), {})[name] = setting(name, leaf)
        elif path[0] == "kafka" and len(path) > 1:
            name = ".".join(path[1:])
            common[name] = setting(name, leaf)
    for (kind, channel), settings in found.items():
        connector = settings.get("connector")
        if kind == "streams" or connector is None or connector.value == CONNECTOR:
            merged = {**common, **settings}
            yield config_resource(kind, merged, next(iter(settings.values())).span, defaults=kind, name=channel)


TOOL = Tool(formats=("yaml", "properties"), find=_find)
