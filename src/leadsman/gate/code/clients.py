"""The Kafka clients that a program creates, with the settings that they get."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from leadsman.gate.code import syntax as s
from leadsman.gate.code.conversions import UNKNOWN
from leadsman.gate.code.values import Evaluation, MappingEntry, MappingValue
from leadsman.gate.facts import ConfigResource, FactsBuilder, Setting
from leadsman.gate.library import Library, libraries_of
from leadsman.kafka_defaults import default_table, has_setting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leadsman.gate.code.analysis import Code, Enclosing, Site

KERNEL = "net."
"""Names of the kernel's network settings begin so; a mapping with such names configures a host."""

DISTINCTIVE = 2
"""A mapping that no client gets is a client's if this many of its names are settings of one kind of client."""

SPARK_PREFIX = "kafka."
"""Options of Spark's source and sink that begin so are settings of the Kafka client."""


@dataclass(slots=True)
class ProgramClients:
    """Finds the clients of one program."""

    evaluation: Evaluation
    version_of: Callable[[Library], str]
    found: FactsBuilder = field(default_factory=FactsBuilder)
    used: set[int] = field(default_factory=set)

    @property
    def code(self) -> Code:
        """The program."""
        return self.evaluation.code

    def find(self) -> tuple[ConfigResource, ...]:
        """Return all clients of the program, in the order of their places."""
        names = constructors(self.code)
        for site in self.code.sites:
            made = names.get(s.dotted(site.call.function))
            if made is not None:
                self.found.resources.append(self._created(site, *made))
        self._spark()
        self._loose_mappings()
        return self.found.in_order()

    def _created(self, site: Site, library: Library, kind: str) -> ConfigResource:
        settings, is_complete = self._settings(site, library)
        return ConfigResource(
            kind=kind,
            span=site.call.span,
            settings=settings,
            is_complete=is_complete,
            library=library,
            defaults=library.defaults.get(kind, ""),
            version=self.version_of(library),
            creation=site.call,
            around=site.around,
        )

    def _settings(self, site: Site, library: Library) -> tuple[dict[str, Setting], bool]:
        merged = MappingValue()
        for argument in [*self._factory_arguments(site, library), *site.call.arguments]:
            value = self.evaluation.value(argument, site.around)
            if isinstance(value, MappingValue):
                merged.merge(value)
            elif value is UNKNOWN and not isinstance(argument, s.Function):
                merged.is_complete = False
                self._option(merged, argument, site, library)
        for name, node in site.call.keywords:
            value = self.evaluation.value(node, site.around)
            if isinstance(value, MappingValue):
                merged.merge(value)
            elif not name:
                merged.forget()
            elif library.are_keywords:
                merged.entries[name] = MappingEntry(value, _around_keyword(name, node.span), node.span)
        self.used |= merged.nodes
        return dict(_named(merged, library)), merged.is_complete

    def _factory_arguments(self, site: Site, library: Library) -> list[s.Node]:
        """Return what the object that makes this client was created with: its settings are the client's, too."""
        name = s.receiver(site.call).removeprefix("this.")
        for (_, variable), bindings in self.code.bindings.items() if library.factories else ():
            created = bindings[-1].value
            if variable == name and isinstance(created, s.Call) and s.called_name(created) in library.factories:
                return created.arguments
        return []

    def _option(self, merged: MappingValue, node: s.Node, site: Site, library: Library) -> None:
        """Add a setting that a call gives: `kgo.RecordRetries(0)`."""
        if isinstance(node, s.Call) and s.called_name(node) in library.options and len(node.arguments) == 1:
            value = self.evaluation.value(node.arguments[0], site.around)
            merged.entries[library.options[s.called_name(node)]] = MappingEntry(
                value, node.span, node.arguments[0].span
            )

    def _loose_mappings(self) -> None:
        """Add the mappings that look like a client's settings and that no client of this program gets."""
        for node, around, at in [*self._literal_mappings(), *self._variables()]:
            value = self.evaluation.value(node, around, at)
            if isinstance(value, MappingValue) and not value.nodes & self.used:
                self.used |= value.nodes
                self.found.resources.extend(self._loose(node, value, around))

    def _variables(self) -> Iterator[tuple[s.Node, Enclosing, int | None]]:
        """Yield the variables that mappings are bound to: with the changes that follow, as at their last change."""
        for (scope, name), changes in self.code.mutations.items():
            bindings = self.code.bindings.get((scope, name), [])
            is_mapping = len(bindings) == 1 and isinstance(bindings[0].value, s.Call | s.Mapping)
            if is_mapping and any(_could_be_setting(each.key) for each in changes):
                yield s.Name(name, changes[0].span), changes[-1].around, changes[-1].order + 1

    def _literal_mappings(self) -> Iterator[tuple[s.Node, Enclosing, int | None]]:
        changed = {id(each.value) for key in self.code.mutations for each in self.code.bindings.get(key, [])}
        for node, around in self.code.mappings:
            if id(node) not in changed and any(_could_be_setting(key) for key, _ in node.pairs):
                yield node, around, None

    def _loose(self, node: s.Node, value: MappingValue, around: Enclosing) -> Iterator[ConfigResource]:
        settings = dict(_named(value, None))
        if any(name.startswith(KERNEL) for name in settings):
            yield ConfigResource(kind="kernel", span=node.span, settings=settings, around=around)
        elif kind := _kind_of(settings):
            yield ConfigResource(kind=kind, span=node.span, settings=settings, around=around)

    def _spark(self) -> None:
        """Add the readers and writers of Spark with options of the Kafka client."""
        chains: dict[int, tuple[Site, list[Site]]] = {}
        for site in self.code.sites:
            root = _chain_root(site.call)
            if s.called_name(site.call) in {"option", "options"}:
                chains.setdefault(id(root), (site, []))[1].append(site)
        for first, options in chains.values():
            client = self._spark_client(first, options)
            if client is not None:
                self.found.resources.append(client)

    def _spark_client(self, first: Site, options: list[Site]) -> ConfigResource | None:
        merged = MappingValue(is_complete=False)
        for site in options:
            for key, value, span, value_span in self._options(site):
                if isinstance(key, str) and key.startswith(SPARK_PREFIX):
                    merged.entries[key.removeprefix(SPARK_PREFIX)] = MappingEntry(value, span, value_span)
        if not merged.entries:
            return None
        words = {each.name for each in s.walk(first.call) if isinstance(each, s.Attribute)}
        kind = (
            "producer"
            if words & {"write", "writeStream"}
            else "consumer"
            if words & {"read", "readStream"}
            else "client"
        )
        return ConfigResource(kind=kind, span=first.call.span, settings=dict(_named(merged, None)), around=first.around)

    def _options(self, site: Site) -> Iterator[tuple[Any, Any, s.Span, s.Span]]:
        arguments = site.call.arguments
        if len(arguments) == 2:  # noqa: PLR2004 - key and value
            values = [self.evaluation.value(each, site.around) for each in arguments]
            yield values[0], values[1], arguments[0].span, arguments[1].span
        for _, node in site.call.keywords:
            value = self.evaluation.value(node, site.around)
            if isinstance(value, MappingValue):
                self.used |= value.nodes
                yield from ((key, each.value, each.span, each.value_span) for key, each in value.entries.items())


def _could_be_setting(key: s.Node | None) -> bool:
    """Whether a key may name a setting: a dotted text, or a constant such as `ProducerConfig.ACKS_CONFIG`."""
    if isinstance(key, s.Literal):
        return isinstance(key.value, str) and "." in key.value
    return isinstance(key, s.Name | s.Attribute) and key.name.isupper()


def _chain_root(call: s.Call) -> s.Node:
    node: s.Node = call
    while isinstance(node, s.Call | s.Attribute):
        node = node.function if isinstance(node, s.Call) else node.object
    return node


def constructors(code: Code) -> dict[str, tuple[Library, str]]:
    """Return what the program calls to make a client: by dotted name the library and the kind of client."""
    found: dict[str, tuple[Library, str]] = {}
    for library in libraries_of(code.language):
        for each in code.imports:
            if library.imports(each.module):
                found.update(_imported_constructors(library, each))
                found.update(_factory_methods(code, library, each))
    return {name: made for name, made in found.items() if name not in code.classes}


def _imported_constructors(library: Library, imported: s.Import) -> Iterator[tuple[str, tuple[Library, str]]]:
    for name, kind in library.constructors.items():
        first, _, rest = name.partition(".")
        if imported.name == "*":
            yield name, (library, kind)
        elif imported.name == first:
            yield (f"{imported.alias}.{rest}" if rest else imported.alias), (library, kind)
        elif not imported.name or imported.name[:1].islower():
            yield f"{imported.alias}.{name}", (library, kind)


def _factory_methods(code: Code, library: Library, imported: s.Import) -> Iterator[tuple[str, tuple[Library, str]]]:
    """Yield the methods of the variables that hold a factory: `kafka.producer` after `kafka = new Kafka(...)`."""
    for name, methods in library.factories.items():
        made = f"{imported.alias}.{name}" if not imported.name else imported.alias if imported.name == name else ""
        for (_, variable), bindings in code.bindings.items():
            if any(isinstance(each.value, s.Call) and s.dotted(each.value.function) == made for each in bindings):
                for method, kind in methods.items():
                    yield f"{variable}.{method}", (library, kind)
                    yield f"this.{variable}.{method}", (library, kind)


def _around_keyword(name: str, span: s.Span) -> s.Span:
    return s.Span(span.line, max(1, span.column - len(name) - 1), span.end_line, span.end_column)


def _named(mapping: MappingValue, library: Library | None, prefix: str = "") -> Iterator[tuple[str, Setting]]:
    """Yield the settings of a mapping by Kafka's names; those of a mapping in it below its name."""
    for key, entry in mapping.entries.items():
        written = prefix + key
        if isinstance(entry.value, MappingValue):
            yield from _named(entry.value, library, f"{written}.")
            continue
        dots = written.replace("_", ".") if library and library.are_keywords and "." not in written else written
        name = library.names.get(dots, dots) if library else dots
        value = text_of(entry.value)
        yield name, Setting(name=name, value=value, written=written, span=entry.span, value_span=entry.value_span)


def text_of(value: object) -> str | None:
    """Return a value as Kafka's settings write it; None where it is unknown."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, str | int | float) else None


CLIENTS = ("producer", "consumer", "streams", "admin")


@cache
def _programs_with(name: str) -> frozenset[str]:
    """Return the kinds of clients that have a setting of this name."""
    kinds = {kind for kind in CLIENTS if has_setting(kind, name)}
    if name in default_table()["librdkafka"]["settings"]:
        kinds |= {"producer", "consumer"}
    return frozenset(kinds)


def _kind_of(settings: dict[str, Setting]) -> str:
    """Return the kind of client that has all these settings; client for several, empty where they are no client's."""
    known = [_programs_with(name) for name in settings if "." in name and _programs_with(name)]
    dotted_names = [name for name in settings if "." in name]
    if len(known) < DISTINCTIVE or len(known) * 2 <= len(dotted_names):
        return ""
    common = frozenset.intersection(*known)
    if not common:
        return ""
    return next(iter(common)) if len(common) == 1 else "client"
