"""What a file says about Kafka: its clients with their settings, its topics, and its program where it is one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leadsman.errors import LeadsmanError
from leadsman.kafka_defaults import default, default_history, programs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from leadsman.gate.code.analysis import Enclosing
    from leadsman.gate.code.syntax import Call, Span
    from leadsman.gate.code.values import Evaluation
    from leadsman.gate.library import Library


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A setting of a client, by Kafka's name. `value` is None where the file does not say the value.

    `written` is the name in the file. `span` is the pair, `value_span` the value alone.
    """

    name: str
    value: str | None
    written: str
    span: Span
    value_span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigResource:
    """What a file says of one thing with settings, as Kafka calls it: a client, broker, topic, or the kernel of a host.

    `kind`: producer, consumer, admin, streams, connect, broker, topic, kernel, or client where it is one of the first
    three. `defaults`: the program of `kafka_defaults` whose defaults apply, empty where unknown. `is_complete`: no
    setting can come from another place. `creation` is the call that makes it, in a program, and `around` are the syntax
    nodes around this call. `library` and `version` are those of its client library, `name` is its name in the file.
    `cluster` is the key of its cluster within the file, `brokers` how many brokers the file declares for this cluster;
    None where it does not say.
    """

    kind: str
    span: Span
    settings: Mapping[str, Setting]
    is_complete: bool = False
    library: Library | None = None
    defaults: str = ""
    version: str = ""
    name: str = ""
    cluster: str = ""
    brokers: int | None = None
    creation: Call | None = None
    around: Enclosing = ()

    def known(self, name: str) -> Setting | None:
        """Return a setting whose value is known."""
        setting = self.settings.get(name)
        return setting if setting is not None and setting.value is not None else None

    def number(self, name: str) -> float | None:
        """Return a setting's value as a number; None where it is not known, or is no number."""
        setting = self.known(name)
        return _number(setting.value) if setting is not None and setting.value is not None else None

    def in_force(self, name: str) -> str | None:
        """Return the value that applies: the setting's, or the client's default. None where neither is known."""
        if name in self.settings:
            return self.settings[name].value
        if not self.is_complete or self.defaults not in programs():
            return None
        own_name = _own_name(self.defaults, name)
        if not self.version and len(default_history(self.defaults, own_name)) != 1:
            return None  # the default depends on a version that no file says
        return default(self.defaults, own_name, self.version)

    def is_kind(self, *kinds: str) -> bool:
        """Whether it is, or can only be, one of these kinds."""
        return self.kind in kinds


def _own_name(program: str, name: str) -> str:
    """Return the name of a setting as the defaults of Python clients write it."""
    return name.replace(".", "_") if program.startswith(("kafka-python", "aiokafka")) else name


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What one file says. `evaluation` is None where the file is no program.

    `hops` are the known hops of the path to the broker, by their names in `leadsman_clients.HOPS`. `is_cluster`: it is
    the state or definition of a cluster in use. `lag_ms`: how long consumers may be behind, where that is known.
    `min_insync`: the largest `min.insync.replicas` of the cluster that the file's producers write to, where known.
    """

    path: str
    language: str
    text: str
    resources: tuple[ConfigResource, ...] = ()
    evaluation: Evaluation | None = None
    hops: frozenset[str] = frozenset()
    is_cluster: bool = False
    lag_ms: float | None = None
    min_insync: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A place that a rule objects to. `message` says the setting and the value in force.

    `replacement` can safely stand at `replacement_span` instead; None where a person must decide.
    """

    span: Span
    message: str
    replacement: str | None = None
    replacement_span: Span | None = None


class RuleFailed(LeadsmanError):
    """A rule raised an error on a file."""


@dataclass(slots=True)
class FactsBuilder:
    """Collects the resources of a file in the order of their lines."""

    resources: list[ConfigResource] = field(default_factory=list)

    def in_order(self) -> tuple[ConfigResource, ...]:
        """Return the resources by line and column."""
        return tuple(sorted(self.resources, key=lambda each: each.span))


def settings_by_name(settings: Iterator[Setting]) -> dict[str, Setting]:
    """Return settings by Kafka's name; the last one of a name counts."""
    return {each.name: each for each in settings}
