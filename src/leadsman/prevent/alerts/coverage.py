"""Finds signals, and the alerts of no mode, on disk; and what exporters cover of all alerts."""

from __future__ import annotations

import pkgutil
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from leadsman.prevent.alerts import modeless, signals
from leadsman.prevent.alerts.exporter import ALWAYS, Exporter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from leadsman.prevent.alerts.alert import Alert
    from leadsman.prevent.alerts.signal import ExporterMetric, Signal


@dataclass(frozen=True, slots=True)
class DeclaredAlert:
    """An alert and the mode that declares it; the mode is empty for the host and for certificates."""

    alert: Alert
    mode: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What a choice of exporters covers: alerts with all their signals, and the others with what is missing."""

    exporters: tuple[Exporter, ...]
    covered: tuple[DeclaredAlert, ...]
    not_covered: Mapping[str, tuple[str, ...]]
    """By alert, one text for each reason why signals are missing."""
    sources: Mapping[str, Exporter]
    """The exporter that each signal of a covered alert is read from, by signal."""

    def only(self, name: str) -> Coverage:
        """Return the coverage of one alert alone: its tests then evaluate few rules."""
        declared = next(each for each in self.covered if each.alert.name == name)
        sources = {signal: self.sources[signal] for signal in declared.alert.signals}
        return replace(self, covered=(declared,), not_covered={}, sources=sources)

    def reading(self, signal: str) -> ExporterMetric:
        """Return how a covered signal is measured."""
        return every_signal()[signal].readings[self.sources[signal]]


@cache
def every_signal() -> Mapping[str, Signal]:
    """Return all signals by name, in alphabetical order."""
    names = sorted(module.name for module in pkgutil.iter_modules(signals.__path__))
    return {name: import_module(f"{signals.__name__}.{name}").SIGNAL for name in names}


def modeless_alerts() -> tuple[DeclaredAlert, ...]:
    """Return the alerts that belong to no mode."""
    names = sorted(module.name for module in pkgutil.iter_modules(modeless.__path__))
    alerts = [alert for name in names for alert in import_module(f"{modeless.__name__}.{name}").ALERTS]
    return tuple(DeclaredAlert(alert, "") for alert in alerts)


def coverage(chosen: Sequence[Exporter], alerts: Iterable[DeclaredAlert]) -> Coverage:
    """Return what these exporters cover of alerts. Where two measure a signal, the one that is named first is read."""
    exporters = tuple(dict.fromkeys([*chosen, *ALWAYS]))
    covered, not_covered, sources = [], {}, {}
    for each in alerts:
        found = {name: _source(name, exporters) for name in each.alert.signals}
        if missing := [name for name, source in found.items() if source is None]:
            not_covered[each.alert.name] = _why(missing, chosen)
        else:
            covered.append(each)
            sources.update({name: source for name, source in found.items() if source is not None})
    return Coverage(exporters=exporters, covered=tuple(covered), not_covered=not_covered, sources=sources)


def _source(signal: str, exporters: Sequence[Exporter]) -> Exporter | None:
    readings = every_signal()[signal].readings
    return next((exporter for exporter in exporters if exporter in readings), None)


def _why(names: Sequence[str], chosen: Sequence[Exporter]) -> tuple[str, ...]:
    """Return which signals are missing, why, and which exporters measure them: a sentence for each reason."""
    meanings: dict[str, list[str]] = {}
    for name in names:
        signal = every_signal()[name]
        reasons = "; ".join(dict.fromkeys(signal.why_not_measured(exporter) for exporter in chosen))
        meanings.setdefault(f"{reasons}. Measured by: {', '.join(signal.readings)}.", []).append(signal.meaning)
    return tuple(f"{' and '.join(each)}: {reason}" for reason, each in meanings.items())
