"""Finds the failure modes on disk. Nothing registers itself."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module, resources
from inspect import getmembers, isfunction, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leadsman.errors import UnknownMode, UnknownSetting, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import ModuleType

    from leadsman.model import FailureMode
    from leadsman.remedies.remedy import Remedy

    Detector = Callable[..., Any]

MODES = Path(str(resources.files("leadsman.modes")))


@dataclass(frozen=True)
class Mode:
    """One folder under modes/. Its parts are imported only when asked for."""

    name: str

    @property
    def folder(self) -> Path:
        """Where the mode's files are."""
        return MODES / self.name

    @cached_property
    def card(self) -> FailureMode:
        """The words and data of the mode."""
        card: FailureMode = self._part("").MODE
        return card

    @cached_property
    def page(self) -> str:
        """The Markdown page, its placeholders not yet filled in."""
        return (self.folder / "page.md").read_text(encoding="utf-8")

    @cached_property
    def detect(self) -> Detector:
        """The detector. Needs Spark."""
        detect: Detector = self._part(".detector").detect
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
    def rules(self) -> dict[str, Callable[..., Any]]:
        """What the gate objects to, by name. Needs the standard library only."""
        module = self._part(".rules")
        return {
            name: rule
            for name, rule in getmembers(module, isfunction)
            if rule.__module__ == module.__name__ and not name.startswith("_")
        }

    @cached_property
    def host(self) -> ModuleType | None:
        """What it says of a host's settings (`SETTINGS`, `check`), where it has anything to say."""
        return self._part(".host") if (self.folder / "host.py").exists() else None

    @cached_property
    def cloud(self) -> ModuleType | None:
        """What it objects to in the policies of a cloud's instances (`check`), where it has anything to say."""
        return self._part(".cloud") if (self.folder / "cloud.py").exists() else None

    @cached_property
    def scenario(self) -> ModuleType:
        """How the lab reproduces the mode. Needs the lab."""
        return self._part(".scenario")

    @cached_property
    def remedies(self) -> dict[str, Remedy]:
        """How a running system is cured of it, by the name of the command; none where the mode brings none."""
        if not (self.folder / "remedy.py").exists():
            return {}
        found: dict[str, Remedy] = self._part(".remedy").REMEDIES
        return found

    def recordings(self) -> list[Path]:
        """Return the captures that the lab recorded, in alphabetical order."""
        return sorted(path for path in (self.folder / "recorded").glob("*") if path.is_dir())

    @property
    def page_recording(self) -> Path:
        """The recording that the page quotes: the oldest client's, whose words people search for."""
        broken = [path for path in self.recordings() if path.name.startswith("broken")]
        if not broken:
            raise UsageError(f"{self.name} has no recording. Make them: python -m leadsman.lab.record_all {self.name}")
        return next((path for path in broken if path.name[-1].isdigit()), broken[0])

    def excerpt(self) -> str:
        """Return the real lines that the page shows: what the detector quoted of `page_recording`."""
        path = self.folder / "recorded" / "excerpt.log"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def _part(self, name: str) -> ModuleType:
        return import_module(f"leadsman.modes.{self.name}{name}")


def every_mode() -> list[Mode]:
    """All modes, in alphabetical order."""
    return [Mode(path.parent.name) for path in sorted(MODES.glob("*/__init__.py"))]


def modes_named(names: Iterable[str]) -> list[Mode]:
    """Return the modes of these names; every mode where none is given. Raises UnknownMode with what there is."""
    known = {mode.name: mode for mode in every_mode()}
    wanted = list(names) or list(known)
    for name in wanted:
        if name not in known:
            raise UnknownMode(f"No failure mode is called {name!r}. There are: {', '.join(known)}. See: leadsman modes")
    return [known[name] for name in wanted]


def overrides(settings: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """Turn MODE.PARAMETER=VALUE pairs into detector arguments. Raises UnknownSetting with the valid names."""
    known = {mode.name: mode for mode in every_mode()}
    chosen: dict[str, dict[str, float]] = {}
    for key, text in settings.items():
        name, _, parameter = key.partition(".")
        if name not in known or parameter not in known[name].parameters:
            valid = ", ".join(f"{mode.name}.{each}" for mode in known.values() for each in mode.parameters)
            raise UnknownSetting(f"No detector has a setting {key!r}. Valid ones: {valid}")
        chosen.setdefault(name, {})[parameter] = _number(key, text, like=known[name].parameters[parameter])
    return chosen


def _number(key: str, text: str, *, like: float) -> float:
    try:
        return type(like)(text)
    except ValueError as error:
        raise UsageError(f"{key} takes a number such as {like}, not {text!r}.") from error
