"""Dashboards as Grafana's JSON, made with Grafana's own types: grafana-foundation-sdk."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from leadsman.prevent.alerts.rules import GENERAL_RUNBOOK_URL, MARK, RUNBOOK_URL
from leadsman.prevent.alerts.signal import PREFIX
from leadsman.prevent.dashboards.queries import (
    CLIENT,
    CLUSTER,
    HOST,
    grafana_query,
    recordings,
    series_of_variable,
    signals_of,
)

if TYPE_CHECKING:
    from grafana_foundation_sdk.builders.dashboard import AnnotationQuery, DashboardLink, QueryVariable
    from grafana_foundation_sdk.builders.timeseries import Panel as TimeSeries
    from grafana_foundation_sdk.models.common import DataSourceRef

    from leadsman.prevent.alerts.alert import Alert
    from leadsman.prevent.alerts.coverage import Coverage
    from leadsman.prevent.dashboards.dashboard import Dashboard, DashboardPanel

SPAN, HEIGHT = 8, 8
"""Of a panel: three of them fill Grafana's 24 columns."""

TAG = "leadsman"
FINDING = "finding"
"""With the tag above, the tag of annotations that are findings: `diagnose --notify grafana=URL` writes them."""

GREEN, ORANGE, RED = "green", "orange", "red"
MAX_FINDINGS = 100
"""Of the annotations that Grafana reads at once; its own default."""

VARIABLE_LABELS = {CLUSTER: "cluster", CLIENT: "instance", HOST: "instance"}
REFRESH = "30s"
"""Two of the recommended scrape intervals."""


def dashboard_json(dashboard: Dashboard, found: Coverage) -> str:
    """Return the dashboard as JSON text, the same for the same input."""
    from grafana_foundation_sdk.cog.encoder import JSONEncoder

    return json.dumps(_built(dashboard, found), cls=JSONEncoder, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _built(dashboard: Dashboard, found: Coverage) -> Any:  # noqa: ANN401 - the SDK's model
    from grafana_foundation_sdk.builders import dashboard as sdk
    from grafana_foundation_sdk.models.dashboard import DashboardCursorSync

    builder = (
        sdk.Dashboard(dashboard.title)
        .uid(dashboard.uid)
        .description(dashboard.description)
        .tags([TAG])
        .readonly()
        .refresh(REFRESH)
        .time("now-6h", "now")
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .with_variable(sdk.DatasourceVariable("datasource").label("Data source").type("prometheus"))
        .annotation(_annotation(dashboard))
        .annotation(_findings(dashboard))
    )
    for name in (CLUSTER, CLIENT, HOST):
        builder = builder.with_variable(_variable(name, found))
    for link in _links(dashboard):
        builder = builder.link(link)
    alerts = {each.alert.name: each.alert for each in found.covered}
    known, number = recordings(found), 0
    for row in dashboard.rows:
        builder = builder.with_row(sdk.Row(row.title).id(number := number + 1))
        for panel in row.panels:
            query = grafana_query(panel, known)
            builder = builder.with_panel(
                _panel(panel, query, _description(panel, alerts, found), alerts).id(number := number + 1)
            )
    return builder.build()


def _source() -> DataSourceRef:
    from grafana_foundation_sdk.models.common import DataSourceRef

    return DataSourceRef(type_val="prometheus", uid="${datasource}")


def _description(panel: DashboardPanel, alerts: dict[str, Alert], found: Coverage) -> str:
    """Return the panel's description, its alerts, and what the exporter does not see of its signals."""
    known = recordings(found)
    signals = sorted({signal for series in panel.series for signal in signals_of(series, known)})
    misses = dict.fromkeys(found.reading(signal).misses for signal in signals)
    named = ", ".join(name for name in panel.alerts if name in alerts)
    parts = [panel.description, f"Alerts: {named}." if named else "", *(f"Note: {each}." for each in misses if each)]
    return "\n\n".join(part for part in parts if part)


def _panel(panel: DashboardPanel, query: str, description: str, alerts: dict[str, Alert]) -> TimeSeries:
    from grafana_foundation_sdk.builders.prometheus import Dataquery
    from grafana_foundation_sdk.builders.timeseries import Panel as TimeSeries

    target = Dataquery().expr(query).legend_format(panel.legend).ref_id("A").range().datasource(_source())
    builder = (
        TimeSeries()
        .title(panel.title)
        .description(description)
        .unit(panel.unit)
        .span(SPAN)
        .height(HEIGHT)
        .axis_soft_min(0)
        .fill_opacity(10)
        .datasource(_source())
        .with_target(target)
    )
    return _with_threshold(builder, panel, alerts)


def _with_threshold(builder: TimeSeries, panel: DashboardPanel, alerts: dict[str, Alert]) -> TimeSeries:
    """Draw the threshold of the panel's first alert, where that is covered."""
    from grafana_foundation_sdk.builders.common import GraphThresholdsStyleConfig
    from grafana_foundation_sdk.builders.dashboard import ThresholdsConfig
    from grafana_foundation_sdk.models.common import GraphThresholdsStyleMode
    from grafana_foundation_sdk.models.dashboard import Threshold, ThresholdsMode

    if not panel.threshold or panel.alerts[0] not in alerts:
        return builder
    value = next(each.value for each in alerts[panel.alerts[0]].thresholds if each.name == panel.threshold)
    steps = [Threshold(value=None, color=GREEN), Threshold(value=value, color=RED)]
    return builder.thresholds(ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(steps)).thresholds_style(
        GraphThresholdsStyleConfig().mode(GraphThresholdsStyleMode.DASHED)
    )


def _variable(name: str, found: Coverage) -> QueryVariable:
    """Return a variable over the values of a label; `.*` for all, which series without the label match too."""
    from grafana_foundation_sdk.builders.dashboard import QueryVariable
    from grafana_foundation_sdk.models.dashboard import VariableOption, VariableRefresh, VariableSort

    names = "|".join(each.removeprefix(PREFIX) for each in series_of_variable(name, found))
    query = f'label_values({{__name__=~"{PREFIX}({names})"}}, {VARIABLE_LABELS[name]})'
    return (
        QueryVariable(name)
        .label(name.capitalize())
        .query({"query": query, "refId": name})
        .definition(query)
        .datasource(_source())
        .current(VariableOption(selected=True, text="All", value="$__all"))
        .include_all(True)
        .all_value(".*")
        .multi(True)
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.ALPHABETICAL_ASC)
    )


def _annotation(dashboard: Dashboard) -> AnnotationQuery:
    """Return the firing alerts as annotations: those of the mode, or all."""
    from grafana_foundation_sdk.builders.dashboard import AnnotationQuery

    ((label, value),) = MARK.items()
    mode = f', mode="{dashboard.mode}"' if dashboard.mode else ""
    return (
        AnnotationQuery()
        .name("Alerts")
        .enable(True)
        .icon_color(RED)
        .datasource(_source())
        .expr(f'ALERTS{{{label}="{value}", alertstate="firing"{mode}}}')
        .title_format("{{alertname}}")
        .text_format("{{cluster}} {{instance}}")
        .tag_keys("severity,owner")
        .step("60s")
    )


def _findings(dashboard: Dashboard) -> AnnotationQuery:
    """Return the findings of diagnoses as annotations: those of the mode, or all."""
    from grafana_foundation_sdk.builders.dashboard import AnnotationQuery, AnnotationTarget
    from grafana_foundation_sdk.models.common import DataSourceRef

    tags = [TAG, FINDING, *([dashboard.mode] if dashboard.mode else [])]
    target = AnnotationTarget().type("tags").tags(tags).match_any(False).limit(MAX_FINDINGS)
    return (
        AnnotationQuery()
        .name("Findings")
        .enable(True)
        .icon_color(ORANGE)
        .datasource(DataSourceRef(type_val="grafana", uid="-- Grafana --"))
        .target(target)  # type: ignore[arg-type]  # the SDK declares the type of other sources
    )


def _links(dashboard: Dashboard) -> list[DashboardLink]:
    """Return links to the other dashboards, to the mode's page and to what is written on the alerts."""
    from grafana_foundation_sdk.builders.dashboard import DashboardLink
    from grafana_foundation_sdk.models.dashboard import DashboardLinkType

    others = DashboardLink("Failure modes").type(DashboardLinkType.DASHBOARDS).tags([TAG]).as_dropdown(True)
    pages = [("Alerts", GENERAL_RUNBOOK_URL)]
    if dashboard.mode:
        pages.append(("What this failure is, and its cure", RUNBOOK_URL.format(mode=dashboard.mode)))
    links = [
        DashboardLink(title).type(DashboardLinkType.LINK).icon("doc").url(url).target_blank(True)
        for title, url in pages
    ]
    return [others.include_vars(True).keep_time(True), *links]
