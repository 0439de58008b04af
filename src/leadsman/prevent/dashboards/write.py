"""Writes a provisioning folder of Grafana: each file beside its place, then renamed; never into a folder of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.errors import UsageError
from leadsman.prevent.dashboards.grafana import dashboard_json
from leadsman.replacing import replaced_file

if TYPE_CHECKING:
    from pathlib import Path

    from leadsman.prevent.alerts.coverage import Coverage
    from leadsman.prevent.dashboards.queries import DashboardCoverage

README = "README.md"
WRITTEN = "Written by leadsman dashboards; a later call overwrites this file."
MARKDOWN_MARK, YAML_MARK = f"<!-- {WRITTEN} -->", f"# {WRITTEN}"

PROVIDER = f"""{YAML_MARK}
apiVersion: 1
providers:
  - name: leadsman
    folder: leadsman
    type: file
    updateIntervalSeconds: 30
    allowUiUpdates: false
    options:
      path: /etc/grafana/provisioning/dashboards/leadsman
"""
DATA_SOURCE = f"""{YAML_MARK}
# An example: where Grafana has your Prometheus already, delete this file.
apiVersion: 1
datasources:
  - name: Prometheus of leadsman
    uid: leadsman-prometheus
    type: prometheus
    access: proxy
    url: http://localhost:9090
    jsonData:
      timeInterval: 15s
"""
TEXT = """{mark}

# Grafana dashboards on Kafka

This folder is laid out as Grafana's provisioning folder. Mount or copy it to `/etc/grafana/provisioning`, and set the
URL in `datasources/leadsman.yml`, or delete that file where Grafana has your Prometheus. For another place, change
`path` in `dashboards/leadsman.yml`. To import a single dashboard, upload its JSON under Dashboards, New, Import.

The panels read the series that `leadsman.rules.yml` of `leadsman alerts` records. Write those rules for the same
exporters; what each alert means is in the README beside them.

| dashboard | file | panels |
|---|---|---|
{rows}
{missing}"""
MISSING = """
These panels are left out, because no chosen exporter measures what they show:

| panel | what is not recorded |
|---|---|
{rows}
"""


def write_dashboards(found: DashboardCoverage, alerts: Coverage, folder: Path) -> None:
    """Write all files. UsageError where the folder is not leadsman's."""
    files = {f"dashboards/leadsman/{each.uid}.json": dashboard_json(each, alerts) for each in found.dashboards}
    files |= {"dashboards/leadsman.yml": PROVIDER, "datasources/leadsman.yml": DATA_SOURCE, README: _readme(found)}
    _refuse_folder_of_others(folder)
    for name, text in files.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"Cannot write to {folder}: {error.strerror}. Choose another folder with --out."
            ) from error
        with replaced_file(path) as stream:
            stream.write(text)


def _readme(found: DashboardCoverage) -> str:
    left_out = f"\nLeft out, because only what stays green is measured: {', '.join(found.left_out)}.\n"
    rows = "\n".join(
        f"| {each.title} | `dashboards/leadsman/{each.uid}.json` | {len(each.panels)} |" for each in found.dashboards
    )
    missing = "\n".join(
        f"| {title} | {', '.join(f'`{name}`' for name in names)} |" for title, names in found.not_covered.items()
    )
    return TEXT.format(
        mark=MARKDOWN_MARK,
        rows=rows,
        missing=f"{left_out if found.left_out else ''}{MISSING.format(rows=missing) if missing else ''}",
    )


def _refuse_folder_of_others(folder: Path) -> None:
    """Raise UsageError unless the folder is new, empty, or was written by an earlier call, as its README says."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file. Choose a folder with --out.")
    present = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
    readme = folder / README
    is_ours = readme.is_file() and readme.read_text(encoding="utf-8", errors="replace").startswith(MARKDOWN_MARK)
    if present and not is_ours:
        raise UsageError(f"{folder} holds files of others, such as {present[0]}. Choose a new folder with --out.")
