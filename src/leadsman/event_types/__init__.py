"""Declares every event: its meaning, value, unit and labels. One module a subject; nothing registers itself."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from leadsman.event_types.definition import EventType


@cache
def built_in_event_types() -> tuple[EventType, ...]:
    """Return the events that are declared here. A telemetry source may declare others (`Source.events`)."""
    return tuple(event for module in declaring_modules() for event in module.EVENTS)


def declaring_modules() -> list[ModuleType]:
    """Return the modules that declare events, by name."""
    modules = (import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__))
    return [module for module in modules if hasattr(module, "EVENTS")]
