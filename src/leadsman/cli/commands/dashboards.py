"""`leadsman dashboards`: writes Grafana dashboards over the signals that the generated rules record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from leadsman.cli.extras import require_extra
from leadsman.cli.monitoring_options import exporter_option, out_option
from leadsman.cli.terminal import echo
from leadsman.prevent.alerts.exporter import Exporter

if TYPE_CHECKING:
    from pathlib import Path

EPILOG = """\b
Examples:
  leadsman dashboards --out grafana                                 for jmx_exporter in the brokers
  leadsman dashboards --out grafana --exporter strimzi --exporter client

\b
The folder then holds, as Grafana's provisioning folder does:
  dashboards/leadsman/*.json  an overview, and one dashboard for each failure mode
  dashboards/leadsman.yml     what makes Grafana read them
  datasources/leadsman.yml    an example of the data source
  README.md                   where each file belongs, and which panels are left out

\b
The panels read series of the rules that `leadsman alerts` writes for the same exporters.
Exit codes: 0 written; 2 could not run.
"""


@click.command("dashboards", epilog=EPILOG)
@out_option
@exporter_option("Where metrics come from, as for `leadsman alerts`; may be repeated.")
def command(out: Path, exporters: tuple[str, ...]) -> None:
    """Write Grafana dashboards: what stayed green in each incident, beside what shows the failure.

    A panel is left out, and listed, where no exporter measures what it shows.
    """
    require_extra("dashboards", "dashboards")
    from leadsman.catalogue import every_alert, every_dashboard
    from leadsman.prevent.alerts.coverage import coverage
    from leadsman.prevent.dashboards.queries import covered_dashboards
    from leadsman.prevent.dashboards.write import write_dashboards

    alerts = coverage([Exporter(name) for name in exporters], every_alert())
    found = covered_dashboards(every_dashboard(), alerts)
    write_dashboards(found, alerts, out)
    panels = sum(len(each.panels) for each in found.dashboards)
    echo(f"Wrote {len(found.dashboards)} dashboards with {panels} panels to {out}, for Grafana's provisioning.")
    if found.not_covered:
        echo(f"Not covered by {', '.join(exporters)}:")
    for title in found.left_out:
        echo(f'  The dashboard "{title}": only what stays green is measured.')
    for title, names in found.not_covered.items():
        echo(f"  {title}: {', '.join(names)}")
