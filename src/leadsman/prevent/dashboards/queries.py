"""The queries of panels for Grafana: each recorded series is limited to the dashboard's variables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from leadsman.prevent.alerts.coverage import every_signal
from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.rules import rule_document
from leadsman.prevent.alerts.signal import PREFIX
from leadsman.prevent.dashboards.dashboard import SERIES, STAYED_GREEN

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Mapping

    from leadsman.prevent.alerts.coverage import Coverage
    from leadsman.prevent.dashboards.dashboard import Dashboard, DashboardPanel

CLUSTER, CLIENT, HOST = "cluster", "client", "host"
"""The variables of every dashboard."""

MATCHERS = {CLUSTER: 'cluster=~"$cluster"', CLIENT: 'instance=~"$client"', HOST: 'instance=~"$host"'}
HOST_EXPORTERS = {Exporter.NODE}
CLIENT_EXPORTERS = {Exporter.CLIENT}


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardCoverage:
    """The dashboards without panels that no chosen exporter fills, and the titles of those, with what is missing.

    `left_out` are the titles of dashboards that would show nothing but what stays green: worse than none.
    """

    dashboards: tuple[Dashboard, ...]
    not_covered: Mapping[str, tuple[str, ...]]
    left_out: tuple[str, ...]


def recordings(found: Coverage) -> dict[str, str]:
    """Return what the generated rules record: the expression by the name of the series."""
    groups = rule_document(found)["groups"]
    return {rule["record"]: rule["expr"] for group in groups for rule in group["rules"] if "record" in rule}


def covered_dashboards(dashboards: Iterable[Dashboard], found: Coverage) -> DashboardCoverage:
    """Return the dashboards with the panels whose series are recorded. Rows without panels are left out."""
    known = recordings(found)
    not_covered: dict[str, tuple[str, ...]] = {}
    covered = []
    for each in dashboards:
        for panel in each.panels:
            if missing := tuple(name for name in panel.series if name not in known):
                not_covered[panel.title] = missing
        rows = (
            replace(row, panels=tuple(panel for panel in row.panels if panel.title not in not_covered))
            for row in each.rows
        )
        covered.append(replace(each, rows=tuple(row for row in rows if row.panels)))
    useful = tuple(each for each in covered if any(row.title != STAYED_GREEN for row in each.rows))
    left_out = tuple(each.title for each in covered if each not in useful)
    return DashboardCoverage(dashboards=useful, not_covered=not_covered, left_out=left_out)


def grafana_query(panel: DashboardPanel, known: Mapping[str, str]) -> str:
    """Return the panel's expression with the matchers of the dashboard's variables on each series."""

    def limited(match: re.Match[str]) -> str:
        return f"{match[0]}{{{MATCHERS[variable_of(match[0], known)]}}}"

    return SERIES.sub(limited, panel.expression)


def variable_of(series: str, known: Mapping[str, str]) -> str:
    """Return the variable that a recorded series is selected by: the host's, the client's or the cluster's.

    Metrics of clients and hosts often have no label `cluster`, so choosing a cluster would hide them.
    """
    signals = every_signal()
    read = signals_of(series, known)
    exporters = {exporter for name in read for exporter in signals[name].readings}
    if exporters <= CLIENT_EXPORTERS:
        return CLIENT
    return HOST if exporters <= HOST_EXPORTERS else CLUSTER


def signals_of(series: str, known: Mapping[str, str]) -> set[str]:
    """Return the signals that a series is made of."""
    name = series.removeprefix(PREFIX)
    if name in every_signal():
        return {name}
    inner = set(SERIES.findall(known.get(series, ""))) - {series}
    return {signal for each in inner for signal in signals_of(each, known)}


def series_of_variable(variable: str, found: Coverage) -> list[str]:
    """Return the recorded series that a variable takes its values from."""
    known = recordings(found)
    names = [f"{PREFIX}{signal}" for signal in sorted(found.sources)]
    return [name for name in names if variable_of(name, known) == variable]
