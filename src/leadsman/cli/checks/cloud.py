"""`leadsman check cloud`: checks the maintenance policies of the brokers' instances."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from leadsman.catalogue import every_mode
from leadsman.cli.input_file import InputFile
from leadsman.cli.terminal import echo
from leadsman.gate.cloud import read_instances

if TYPE_CHECKING:
    from pathlib import Path

    from leadsman.gate.cloud import PolicyAdvice

EPILOG = """\b
Examples:
  gcloud compute instances list --format=json > instances.json
  leadsman check cloud instances.json --brokers 'kafka-*'
  terraform show -json plan.out > plan.json
  leadsman check cloud plan.json

\b
Exit codes: 0 all policies are right; 1 a policy should change; 2 could not run, or no instance matches.
"""


@click.command("cloud", short_help="Check the maintenance policies of the brokers' instances.", epilog=EPILOG)
@click.argument("file", type=InputFile())
@click.option(
    "--brokers",
    default="*",
    show_default=True,
    metavar="PATTERN",
    help="Pattern of the names of the brokers' instances.",
)
def command(file: Path, brokers: str) -> int:
    """Check that the maintenance policies of the brokers' instances are policies that Kafka survives.

    FILE is the output of `gcloud compute instances list --format=json`, or of `terraform show -json` for a plan.
    """
    matching = read_instances(file, brokers)
    parts = [(mode.name, mode.cloud) for mode in every_mode() if mode.cloud]
    advice = [(name, each) for name, part in parts for instance in matching for each in part.check(instance)]
    for mode, each in advice:
        _show(mode, each)
    count = len({each.instance.location for _, each in advice})
    echo(f"{len(matching)} instances checked, {count} with a policy that should change.")
    return int(bool(advice))


def _show(mode: str, advice: PolicyAdvice) -> None:
    echo(advice.instance.location, bold=True)
    echo(f"  {advice.policy} is {advice.current}, should be {advice.recommended}. {advice.why} ({mode})")
    echo(f"  {advice.cure}")
