"""What a dashboard declares: rows of panels, each an expression over recorded signals, and the alerts about it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from leadsman.prevent.alerts.signal import PREFIX

SERIES = re.compile(rf"{PREFIX}[a-z][a-z0-9_]*(?::[a-z0-9_]+)*")
"""The name of a recorded series in an expression."""

STAYED_GREEN = "Stayed green in the incident"
SHOWS_IT = "Shows the failure"


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardPanel:
    """One panel.

    `expression` is PromQL over recorded series, without the dashboard's variables: those are added to each series.
    `unit` is Grafana's id of a unit. `legend` is a template of labels. `alerts` are the names of the alerts on the same
    series; `threshold` is the name of a threshold of the first of them, drawn as a line.
    """

    title: str
    expression: str
    unit: str
    description: str
    legend: str
    alerts: tuple[str, ...] = ()
    threshold: str = ""

    @property
    def series(self) -> tuple[str, ...]:
        """The recorded series that the expression reads."""
        return tuple(dict.fromkeys(SERIES.findall(self.expression)))


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardRow:
    """Panels under one title."""

    title: str
    panels: tuple[DashboardPanel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard:
    """One dashboard. `mode` is empty for the overview."""

    title: str
    description: str
    rows: tuple[DashboardRow, ...]
    mode: str = ""

    @property
    def uid(self) -> str:
        """Grafana's id of the dashboard, at most 40 characters: a later call replaces it, and links stay."""
        return f"leadsman-{(self.mode or 'overview').replace('_', '-')}"[:40]

    @property
    def panels(self) -> tuple[DashboardPanel, ...]:
        """All panels."""
        return tuple(panel for row in self.rows for panel in row.panels)
