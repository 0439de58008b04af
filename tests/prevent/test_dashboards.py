"""The generated dashboards: Prometheus parses every query, Grafana's own types read every file, no name is a guess."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard as GrafanaDashboard

from leadsman.catalogue import every_alert, every_dashboard, every_mode
from leadsman.lab.alerts.panels import with_all
from leadsman.prevent.alerts.coverage import coverage, every_signal
from leadsman.prevent.alerts.exporter import CHOICES, Exporter
from leadsman.prevent.dashboards.dashboard import SHOWS_IT, STAYED_GREEN
from leadsman.prevent.dashboards.grafana import dashboard_json
from leadsman.prevent.dashboards.queries import covered_dashboards, grafana_query, recordings, variable_of
from leadsman.prevent.dashboards.write import write_dashboards

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ALL = coverage(CHOICES, every_alert())
DASHBOARDS = [pytest.param(each, id=each.uid) for each in every_dashboard()]
PANELS = [pytest.param(panel, id=f"{each.uid}: {panel.title}") for each in every_dashboard() for panel in each.panels]
EXPORTERS = [pytest.param(each, id=str(each)) for each in CHOICES]


def written(dashboard: Any, found: Any = ALL) -> Any:
    return json.loads(dashboard_json(dashboard, found))


def panels_of(document: Any) -> Iterator[Any]:
    return (panel for panel in document["panels"] if panel["type"] != "row")


def test_there_is_one_for_each_mode_and_an_overview() -> None:
    assert [each.mode for each in every_dashboard()] == ["", *(mode.name for mode in every_mode())]


def test_prometheus_parses_every_query_of_every_exporter(tmp_path: Path, program) -> None:
    found = [coverage([exporter], every_alert()) for exporter in CHOICES]
    queries = {
        panel["targets"][0]["expr"]
        for alerts in [*found, ALL]
        for each in covered_dashboards(every_dashboard(), alerts).dashboards
        for panel in panels_of(written(each, alerts))
    }
    rules = [{"record": f"query:{number}", "expr": query} for number, query in enumerate(sorted(queries))]
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}))

    done = program("promtool", "check", "rules", tmp_path / "rules.yml")

    assert done.returncode == 0, done.stderr
    assert f"{len(queries)} rules found" in done.stdout


@pytest.mark.parametrize("panel", PANELS)
def test_a_panel_reads_recorded_series_and_names_real_alerts(panel: Any) -> None:
    alerts = {each.alert.name: each.alert for each in every_alert()}

    thresholds = {each.name for name in panel.alerts[:1] for each in alerts[name].thresholds}

    assert [name for name in panel.series if name not in recordings(ALL)] == []
    assert set(panel.alerts) <= set(alerts)
    assert not panel.threshold or panel.threshold in thresholds


@pytest.mark.parametrize("panel", PANELS)
def test_a_panel_names_no_metric_of_an_exporter(panel: Any) -> None:
    metrics = {
        reading.metric.partition("{")[0] for signal in every_signal().values() for reading in signal.readings.values()
    }

    assert [metric for metric in metrics if metric in panel.expression] == []


@pytest.mark.parametrize("dashboard", DASHBOARDS)
def test_every_panel_has_a_title_a_unit_and_a_description(dashboard: Any) -> None:
    empty = [
        panel["title"]
        for panel in panels_of(written(dashboard))
        if not (panel["title"] and panel["description"] and panel["fieldConfig"]["defaults"]["unit"])
    ]

    assert empty == []


@pytest.mark.parametrize("dashboard", DASHBOARDS)
def test_no_two_panels_share_a_title_an_id_or_a_place(dashboard: Any) -> None:
    document = written(dashboard)
    panels = list(panels_of(document))

    ids = [panel["id"] for panel in document["panels"]]
    places = [tuple(sorted(panel["gridPos"].items())) for panel in document["panels"]]

    assert len(set(ids)) == len(ids)
    assert len(set(places)) == len(places)
    assert len({panel["title"] for panel in panels}) == len(panels)


@pytest.mark.parametrize("dashboard", DASHBOARDS)
def test_grafanas_own_types_read_what_is_written(dashboard: Any) -> None:
    text = dashboard_json(dashboard, ALL)

    read = json.dumps(GrafanaDashboard.from_json(json.loads(text)), cls=JSONEncoder, sort_keys=True)

    assert json.loads(read)["uid"] == json.loads(text)["uid"]
    assert json.loads(read) == json.loads(text)


@pytest.mark.parametrize("dashboard", DASHBOARDS)
def test_alerts_and_findings_are_annotations(dashboard: Any) -> None:
    alerts, findings = written(dashboard)["annotations"]["list"]

    assert alerts["expr"].startswith("ALERTS{")
    assert findings["datasource"] == {"type": "grafana", "uid": "-- Grafana --"}
    assert findings["target"]["tags"] == ["leadsman", "finding", *filter(None, [dashboard.mode])]
    assert findings["target"]["matchAny"] is False


@pytest.mark.parametrize("dashboard", DASHBOARDS[1:])
def test_a_mode_shows_what_stayed_green_beside_what_shows_it(dashboard: Any) -> None:
    titles = [row.title for row in dashboard.rows]
    links = [link.get("url", "") for link in written(dashboard)["links"]]

    assert titles == [STAYED_GREEN, SHOWS_IT]
    assert any(link.endswith(f"{dashboard.mode}/page.md") for link in links)


def test_the_rows_of_the_overview_are_clients_brokers_and_hosts() -> None:
    assert [row.title for row in every_dashboard()[0].rows] == ["Alerts", "Clients", "Brokers", "Hosts"]


@pytest.mark.parametrize(
    ("series", "variable"),
    [
        ("leadsman:leaders", "cluster"),
        ("leadsman:partitions:leaderless", "cluster"),
        ("leadsman:group_lag", "cluster"),
        ("leadsman:records:ratio_rate5m", "client"),
        ("leadsman:consumer_alive", "client"),
        ("leadsman:cpu_steal:share", "host"),
        ("leadsman:syn_recv", "host"),
    ],
)
def test_each_series_is_selected_by_the_variable_of_what_it_is_about(series: str, variable: str) -> None:
    assert variable_of(series, recordings(ALL)) == variable


def test_a_query_is_limited_to_the_variables() -> None:
    dashboard = next(each for each in every_dashboard() if each.mode == "stale_neighbour")
    panel = next(each for each in dashboard.panels if each.title == "Room below gc_thresh1")

    query = grafana_query(panel, recordings(ALL))

    assert query == (
        'sum by (instance) (leadsman:neighbour_threshold{instance=~"$host"})'
        ' - sum by (instance) (leadsman:neighbour_entries{instance=~"$host"})'
    )


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_what_an_exporter_does_not_measure_is_left_out_and_listed(exporter: Exporter, tmp_path: Path) -> None:
    alerts = coverage([exporter], every_alert())
    found = covered_dashboards(every_dashboard(), alerts)
    write_dashboards(found, alerts, tmp_path / "grafana")

    shown = {panel.title for each in found.dashboards for panel in each.panels}
    declared = {panel.title for each in every_dashboard() for panel in each.panels}

    left_out = {panel.title for each in every_dashboard() if each.title in found.left_out for panel in each.panels}
    assert shown | set(found.not_covered) | left_out == declared
    assert shown & set(found.not_covered) == set()
    assert all(title in (tmp_path / "grafana" / "README.md").read_text() for title in found.not_covered)


def test_a_dashboard_of_nothing_but_green_panels_is_left_out() -> None:
    found = covered_dashboards(every_dashboard(), coverage([Exporter.JMX], every_alert()))

    assert found.left_out == ("Kafka: idle disconnects",)
    assert "idle_disconnect" not in {each.mode for each in found.dashboards}


def test_every_panel_is_filled_by_some_exporter() -> None:
    assert covered_dashboards(every_dashboard(), ALL).not_covered == {}


@pytest.mark.parametrize("dashboard", DASHBOARDS)
def test_the_lab_evaluates_queries_as_grafana_sends_them_for_all(dashboard: Any) -> None:
    queries = [with_all(panel["targets"][0]["expr"]) for panel in panels_of(written(dashboard))]

    assert [query for query in queries if "$" in query] == []


def test_the_threshold_of_a_panel_is_that_of_its_alert() -> None:
    dashboard = next(each for each in every_dashboard() if each.mode == "producer_id_leak")
    alert = next(each.alert for each in every_alert() if each.alert.name == "KafkaProducerIdsKeepGrowing")
    value = next(each.value for each in alert.thresholds if each.name == "min_ids_per_hour")

    (panel,) = (each for each in panels_of(written(dashboard)) if each["title"].startswith("New producer ids"))

    assert panel["fieldConfig"]["defaults"]["thresholds"]["steps"][1]["value"] == value


def test_what_is_written_does_not_depend_on_the_call(tmp_path: Path) -> None:
    found = covered_dashboards(every_dashboard(), ALL)

    write_dashboards(found, ALL, tmp_path / "a")
    write_dashboards(found, ALL, tmp_path / "b")
    write_dashboards(found, ALL, tmp_path / "b")

    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_grafanas_provisioning_names_the_folder_of_the_dashboards(tmp_path: Path) -> None:
    write_dashboards(covered_dashboards(every_dashboard(), ALL), ALL, tmp_path)

    (provider,) = yaml.safe_load((tmp_path / "dashboards" / "leadsman.yml").read_text())["providers"]
    (source,) = yaml.safe_load((tmp_path / "datasources" / "leadsman.yml").read_text())["datasources"]
    files = sorted(path.name for path in (tmp_path / "dashboards" / "leadsman").iterdir())

    assert provider["options"]["path"] == "/etc/grafana/provisioning/dashboards/leadsman"
    assert source["type"] == "prometheus"
    assert files == sorted(f"{each.uid}.json" for each in every_dashboard())
