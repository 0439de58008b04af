"""Finds the failure modes on disk. Nothing registers itself."""

from __future__ import annotations

import pkgutil
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module, resources
from inspect import signature
from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leadsman.errors import UnknownMode, UnknownSetting, UsageError
from leadsman.gate.rule import ModeRule
from leadsman.prevent.alerts.coverage import DeclaredAlert, modeless_alerts
from leadsman.prevent.dashboards import overview

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import ModuleType

    from leadsman.model import FailureMode
    from leadsman.prevent.alerts.alert import Alert
    from leadsman.prevent.dashboards.dashboard import Dashboard
    from leadsman.remedies.remedy import Remedy

    Detector = Callable[..., Any]

MODES = Path(str(resources.files("leadsman.modes")))


@dataclass(frozen=True)
class Mode:
    """One folder below modes/. Its modules are imported on first use."""

    name: str

    @property
    def folder(self) -> Path:
        """The folder of the mode's files."""
        return MODES / self.name

    @cached_property
    def card(self) -> FailureMode:
        """The words and data of the mode."""
        card: FailureMode = self._import("").MODE
        return card

    @cached_property
    def page(self) -> str:
        """The Markdown page, its placeholders not yet filled in."""
        return (self.folder / "page.md").read_text(encoding="utf-8")

    @cached_property
    def detect(self) -> Detector:
        """The detector. Needs Spark."""
        detect: Detector = self._import(".detector").detect
        return detect

    @cached_property
    def parameters(self) -> dict[str, float]:
        """The detector's thresholds and their defaults."""
        return {
            name: parameter.default
            for name, parameter in signature(self.detect).parameters.items()
            if parameter.kind is parameter.KEYWORD_ONLY
        }

    @cached_property
    def rules(self) -> tuple[ModeRule, ...]:
        """The gate's rules: each module of the folder `rules` has one, and its name is the rule's id."""
        package = self._import(".rules")
        names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
        rules = {name: self._import(f".rules.{name}").RULE for name in names}
        return tuple(ModeRule(name, self.name, self.card.title, rule) for name, rule in rules.items())

    @cached_property
    def host(self) -> ModuleType | None:
        """The module that checks a host's settings (`SETTINGS`, `check`); None where the mode has none."""
        return self._import(".host") if (self.folder / "host.py").exists() else None

    @cached_property
    def cloud(self) -> ModuleType | None:
        """The module that checks policies of cloud instances (`check`); None where the mode has none."""
        return self._import(".cloud") if (self.folder / "cloud.py").exists() else None

    @cached_property
    def scenario(self) -> ModuleType:
        """The mode's experiment. Needs leadsman[lab]."""
        return self._import(".scenario")

    @cached_property
    def remedies(self) -> dict[str, Remedy]:
        """The remedies for a running system, by the name of their command."""
        if not (self.folder / "remedy.py").exists():
            return {}
        remedies: dict[str, Remedy] = self._import(".remedy").REMEDIES
        return remedies

    @cached_property
    def alerts(self) -> tuple[Alert, ...]:
        """The alerts of all files in the mode's folder `alerts`; none where there is no such folder."""
        files = sorted((self.folder / "alerts").glob("[!_]*.py"))
        return tuple(alert for path in files for alert in self._import(f".alerts.{path.stem}").ALERTS)

    @cached_property
    def dashboard(self) -> Dashboard | None:
        """The mode's Grafana dashboard; None where the mode has none."""
        if not (self.folder / "dashboard.py").exists():
            return None
        dashboard: Dashboard = self._import(".dashboard").DASHBOARD
        return replace(dashboard, mode=self.name)

    def recordings(self) -> list[Path]:
        """Return the folders of the captures that the lab recorded, in alphabetical order."""
        return sorted(path for path in (self.folder / "recorded").glob("*") if path.is_dir())

    @property
    def page_recording(self) -> Path:
        """The recording that the page quotes: that of the oldest client, whose log lines people search for."""
        broken = [path for path in self.recordings() if path.name.startswith("broken")]
        if not broken:
            raise UsageError(f"{self.name} has no recording. Record one: python -m leadsman.lab.record_all {self.name}")
        return next((path for path in broken if path.name[-1].isdigit()), broken[0])

    def excerpt(self) -> str:
        """Return the log lines that the page shows: the detector's evidence in `page_recording`."""
        path = self.folder / "recorded" / "excerpt.log"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def _import(self, name: str) -> ModuleType:
        return import_module(f"leadsman.modes.{self.name}{name}")


def every_rule() -> tuple[ModeRule, ...]:
    """All rules of the gate, of all modes."""
    return tuple(rule for mode in every_mode() for rule in mode.rules)


def every_mode() -> list[Mode]:
    """All modes, in alphabetical order."""
    return [Mode(path.parent.name) for path in sorted(MODES.glob("*/__init__.py"))]


def every_alert() -> tuple[DeclaredAlert, ...]:
    """Return the alerts of all modes, then those of none."""
    of_modes = (DeclaredAlert(alert, mode.name) for mode in every_mode() for alert in mode.alerts)
    return (*of_modes, *modeless_alerts())


def every_dashboard() -> tuple[Dashboard, ...]:
    """Return the overview, then the dashboards of all modes."""
    return (overview.DASHBOARD, *(mode.dashboard for mode in every_mode() if mode.dashboard is not None))


def modes_named(names: Iterable[str]) -> list[Mode]:
    """Return the modes of these names; every mode without names. UnknownMode lists the existing modes."""
    known = {mode.name: mode for mode in every_mode()}
    selected = list(names) or list(known)
    for name in selected:
        if name not in known:
            raise UnknownMode(f"No failure mode is called {name!r}. There are: {', '.join(known)}. See: leadsman modes")
    return [known[name] for name in selected]


def threshold_overrides(settings: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """Convert MODE.PARAMETER=VALUE pairs to detector arguments. UnknownSetting lists the valid names."""
    known = {mode.name: mode for mode in every_mode()}
    overrides: dict[str, dict[str, float]] = {}
    for key, text in settings.items():
        name, _, parameter = key.partition(".")
        if name not in known or parameter not in known[name].parameters:
            valid = ", ".join(f"{mode.name}.{each}" for mode in known.values() for each in mode.parameters)
            raise UnknownSetting(f"No detector has a setting {key!r}. Valid ones: {valid}")
        overrides.setdefault(name, {})[parameter] = _number(key, text, like=known[name].parameters[parameter])
    return overrides


def _number(key: str, text: str, *, like: float) -> float:
    try:
        number = type(like)(text)
    except ValueError:
        number = nan
    if not isfinite(number):
        raise UsageError(f"{key} takes a number such as {like}, not {text!r}.")
    return number
