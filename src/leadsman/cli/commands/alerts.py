"""`leadsman alerts`: writes Prometheus rules that would have reported the incidents, for the exporters in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from leadsman.cli.monitoring_options import exporter_option, out_option
from leadsman.cli.terminal import echo
from leadsman.prevent.alerts.exporter import Exporter

if TYPE_CHECKING:
    from pathlib import Path

EPILOG = """\b
Examples:
  leadsman alerts --out alerts                                     for jmx_exporter in the brokers
  leadsman alerts --out alerts --exporter strimzi --exporter client
  leadsman alerts --out alerts --exporter confluent                what Confluent Cloud's metrics can show

\b
The folder then holds:
  leadsman.rules.yml    recording and alerting rules: name it under rule_files of Prometheus
  leadsman.tests*.yml   cases for `promtool test rules`: broken fires, cured and near misses stay silent
  alertmanager.yml      a fragment: routes by owner, and inhibition of symptoms by their causes
  README.md             each alert: why its threshold, what to do, what it misses; and what is not covered

\b
Exit codes: 0 written; 2 could not run.
"""


@click.command("alerts", epilog=EPILOG)
@out_option
@exporter_option("Where metrics come from. Repeat it for several exporters: the first that measures a signal is read.")
def command(out: Path, exporters: tuple[str, ...]) -> None:
    """Write Prometheus alert rules, generated from what each failure mode declares, with their tests.

    Rules about hosts (node_exporter) and certificates (blackbox_exporter) are in every output. Where an exporter does
    not measure a signal, its alerts are left out, and listed with the reason.
    """
    from leadsman.catalogue import every_alert
    from leadsman.prevent.alerts.coverage import coverage
    from leadsman.prevent.alerts.write import write_folder  # YAML is loaded only now

    found = coverage([Exporter(name) for name in exporters], every_alert())
    write_folder(found, out)
    echo(f"Wrote {len(found.covered)} alerts to {out}, with tests, routes and a README.")
    if found.not_covered:
        echo(f"Not covered by {', '.join(exporters)}:")
    for name, reasons in found.not_covered.items():
        echo(f"  {name}: {' '.join(reasons)}")
