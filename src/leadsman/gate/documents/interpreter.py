"""What a tool that reads a configuration file makes of it: clients, brokers and topics with their settings."""

from __future__ import annotations

import pkgutil
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from leadsman.gate.documents import tools
from leadsman.gate.facts import ConfigResource, Facts, FactsBuilder, Setting
from leadsman.gate.hops import hops_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from leadsman.gate.code.syntax import Span
    from leadsman.gate.documents.tree import Document, Leaf


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that reads configuration files. `find` yields what it would configure from one document.

    `cluster_sizes` counts the brokers that all documents of a file declare, by the key of their cluster.
    """

    formats: tuple[str, ...]
    find: Callable[[Document, str], Iterator[ConfigResource]]
    cluster_sizes: Callable[[list[Document]], Mapping[str, int]] | None = None


@cache
def every_tool() -> tuple[Tool, ...]:
    """Return all tools, in alphabetical order of their modules."""
    names = sorted(module.name for module in pkgutil.iter_modules(tools.__path__))
    return tuple(import_module(f"{tools.__name__}.{name}").TOOL for name in names)


def interpret(path: str, text: str, language: str, documents: list[Document]) -> Facts:
    """Return the facts of a configuration file."""
    found = FactsBuilder()
    for tool in every_tool():
        if language in tool.formats:
            listed = [each for document in documents for each in tool.find(document, path)]
            sizes = tool.cluster_sizes(documents) if tool.cluster_sizes and listed else {}
            found.resources += [replace(each, brokers=sizes.get(each.cluster, each.brokers)) for each in listed]
    return Facts(path=path, language=language, text=text, resources=found.in_order(), hops=hops_of(text))


PLACEHOLDERS = ("${", "{{", "$(", "<%", "#{", "@@")
"""A value with one of these comes from somewhere else: an environment, a template, a secret."""


def setting(name: str, leaf: Leaf) -> Setting:
    """Return a leaf as a setting. A placeholder with a default, `${RETRIES:0}`, has the value of its default."""
    value = leaf.node.value
    return Setting(
        name=name,
        value=None if value is None else literal(value),
        written=".".join(leaf.path),
        span=leaf.span,
        value_span=leaf.node.span,
    )


def literal(text: str) -> str | None:
    """Return a value without its placeholder; None where the file does not say the value."""
    stripped = text.strip()
    if stripped.startswith("${") and stripped.endswith("}") and stripped.count("${") == 1 and ":" in stripped:
        return stripped[2:-1].partition(":")[2].removeprefix("-")
    return None if any(each in text for each in PLACEHOLDERS) else stripped


def config_resource(
    kind: str, settings: dict[str, Setting], span: Span, *, defaults: str = "", name: str = "", cluster: str = ""
) -> ConfigResource:
    """Return a client that a file configures. Other files can configure it, too: it is never complete."""
    return ConfigResource(kind=kind, span=span, settings=settings, defaults=defaults, name=name, cluster=cluster)


TOPICS_OF_CONNECT = tuple(f"{each}.storage.replication.factor" for each in ("offset", "config", "status"))


def connect_worker(settings: dict[str, Setting], servers: str, *, cluster: str = "") -> Iterator[ConfigResource]:
    """Yield a worker of Kafka Connect that creates its own topics. `servers` is its list of brokers."""
    own = {name: settings[name] for name in TOPICS_OF_CONNECT if name in settings}
    if own:
        span = next(iter(own.values())).span
        yield replace(config_resource("connect", own, span, cluster=cluster), brokers=brokers_listed(servers))


def brokers_listed(servers: str) -> int | None:
    """Return how many hosts a list of brokers names; None for one, which may be the address of many."""
    hosts = {each.strip().rpartition("://")[2].rpartition(":")[0] for each in servers.split(",")}
    return len(hosts) if len(hosts) > 1 and not any(each in servers for each in PLACEHOLDERS) else None
