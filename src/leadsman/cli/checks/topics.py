"""`leadsman check topics`: checks settings of topics and brokers."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from leadsman.cli.input_file import InputFile
from leadsman.collect.numbers import FiniteNumber
from leadsman.gate.output import find_format, format_names

if TYPE_CHECKING:
    from pathlib import Path

EPILOG = """\b
Examples:
  kafka-topics.sh --bootstrap-server kafka:9092 --describe > topics.txt
  leadsman check topics topics.txt --lag 24
  kafka-configs.sh --bootstrap-server kafka:9092 --describe --all --entity-type brokers > brokers.txt
  leadsman check topics brokers.txt cluster.yml topics.tf
  leadsman check topics topics.txt application.yml     acks of producers against min.insync.replicas

\b
Exit codes: 0 no finding; 1 findings; 2 could not run, or a file names no topic, broker or producer.
"""


@click.command("topics", short_help="Check settings of topics and brokers.", epilog=EPILOG)
@click.argument("files", nargs=-1, required=True, type=InputFile())
@click.option(
    "--lag", "lag_hours", type=FiniteNumber(0), metavar="HOURS", help="How long consumers may be behind, or stopped."
)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(format_names()),
    default="text",
    show_default=True,
    help="Output format.",
)
def command(files: tuple[Path, ...], lag_hours: float | None, format_name: str) -> int:
    """Check topics and brokers of a cluster for what a broker's loss, or a stopped consumer, turns into an incident.

    FILES: the output of `kafka-topics --describe` and `kafka-configs --describe`, or Strimzi's and Terraform's files;
    beside them, programs and settings of producers, whose acks are checked against the topics.
    """
    from leadsman.catalogue import every_rule
    from leadsman.gate.topics import check_topics

    report = check_topics(files, every_rule(), lag_hours)
    report.violations = [replace(each, replacement=None) for each in report.violations]
    find_format(format_name)(report, sys.stdout)
    return int(bool(report.violations))
