"""What an alert declares: its expression over signals, its thresholds with their reasons, and cases that test it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from string import Template
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta


MINUTE, TEN_MINUTES = "1m", "10m"


class Severity(StrEnum):
    """What an alert asks of its receiver: to act now, within days, or to know."""

    PAGE = "page"
    TICKET = "ticket"
    INFO = "info"


class Owner(StrEnum):
    """Who can act: the operators of the brokers, of the services with Kafka clients, or of the hosts."""

    BROKERS = "brokers"
    SERVICES = "services"
    HOSTS = "hosts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """A number in an expression, by name, and why it is this number."""

    name: str
    value: float
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A test case: series by signal in promtool's notation, and what fires at which time.

    `interval` is that of the samples and of the evaluation: cases of days take ten minutes, or they would take long.
    `why` says where the series come from: a recording, or how the world works. `firing` is the number of firing alerts.
    """

    name: str
    series: Mapping[str, str]
    firing: int
    at: str = "1h"
    interval: str = MINUTE
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One alert.

    `expression` and the values of `recordings` are PromQL templates: `$name` is a threshold's value, `$$` a dollar.
    They read signals as `leadsman:NAME`. `signals` are all that it needs: an exporter that lacks one does not have the
    alert. `for_duration` is Prometheus's `for`, `why_for_duration` its reason. `symptom_of` names alerts that inhibit
    this one where the labels `inhibited_by_equal` are equal. `misses` says what the alert does not see on any exporter.
    """

    name: str
    summary: str
    expression: str
    signals: tuple[str, ...]
    for_duration: timedelta
    why_for_duration: str
    severity: Severity
    owner: Owner
    meaning: str
    action: str
    command: str
    cases: tuple[Case, ...]
    thresholds: tuple[Threshold, ...] = ()
    recordings: Mapping[str, str] = field(default_factory=dict)
    symptom_of: tuple[str, ...] = ()
    inhibited_by_equal: tuple[str, ...] = ("cluster",)
    misses: str = ""

    def filled(self, template: str) -> str:
        """Return a PromQL template with the thresholds' values."""
        return Template(template).substitute({each.name: f"{each.value:g}" for each in self.thresholds})
