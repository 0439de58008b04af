"""Evaluates the queries of the dashboards on a running Prometheus: which panels show data during an experiment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.catalogue import every_dashboard
from leadsman.prevent.dashboards.queries import MATCHERS, covered_dashboards, grafana_query, recordings

if TYPE_CHECKING:
    from datetime import datetime

    from leadsman.lab.alerts.prometheus import Monitoring
    from leadsman.prevent.alerts.coverage import Coverage

ALL = ".*"
"""What Grafana puts in place of a variable whose value is All."""

STEP_SECONDS = 5
"""Finer than any panel on a screen shows an experiment of minutes."""


def panels_with_data(
    prometheus: Monitoring, found: Coverage, began: datetime, ended: datetime
) -> dict[str, dict[str, bool]]:
    """Return for each dashboard whether each panel that these exporters cover had data between two times."""
    known = recordings(found)
    return {
        dashboard.uid: {
            panel.title: _has_data(prometheus, with_all(grafana_query(panel, known)), began, ended)
            for panel in dashboard.panels
        }
        for dashboard in covered_dashboards(every_dashboard(), found).dashboards
    }


def with_all(query: str) -> str:
    """Return a query as Grafana sends it where every variable is All."""
    for variable in MATCHERS:
        query = query.replace(f"${variable}", ALL)
    return query


def _has_data(prometheus: Monitoring, query: str, began: datetime, ended: datetime) -> bool:
    data = prometheus.query(
        "query_range", query=query, start=began.timestamp(), end=ended.timestamp(), step=STEP_SECONDS
    )
    return any(value != "NaN" for series in data["result"] for _, value in series["values"])
