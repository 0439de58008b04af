"""`leadsman check cloud`: what becomes of brokers while their hosts are maintained, before that happens."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from leadsman.catalogue import every_mode
from leadsman.gate.cloud import instances

if TYPE_CHECKING:
    from leadsman.gate.cloud import Objection

EPILOG = """\b
Examples:
  gcloud compute instances list --format=json > instances.json
  leadsman check cloud instances.json --brokers 'kafka-*'
  terraform show -json plan.out > plan.json
  leadsman check cloud plan.json

\b
Exit codes: 0 nothing to object to; 1 a policy should be another; 2 could not run, or no instance is called so.
"""


@click.command("cloud", epilog=EPILOG)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--brokers", default="*", show_default=True, metavar="PATTERN", help="Names of the brokers' instances.")
def command(file: Path, brokers: str) -> int:
    """Hold the maintenance policies of the brokers' instances against what brokers survive.

    FILE is the output of `gcloud compute instances list --format=json`, or of `terraform show -json` for a plan.
    """
    chosen = instances(file, brokers)
    parts = [(mode.name, mode.cloud) for mode in every_mode() if mode.cloud]
    found = [(name, each) for name, part in parts for instance in chosen for each in part.check(instance)]
    for mode, objection in found:
        _say(mode, objection)
    count = len({objection.instance.where for _, objection in found})
    click.echo(f"{len(chosen)} instances looked at, {count} with a policy that should be another.")
    return int(bool(found))


def _say(mode: str, objection: Objection) -> None:
    click.secho(objection.instance.where, bold=True)
    click.echo(f"  {objection.policy} is {objection.found}, should be {objection.wanted}. {objection.why} ({mode})")
    click.echo(f"  {objection.cure}")
