"""Keeps brokers for a try until Ctrl-C: `python -m leadsman.lab.brokers [--brokers 3] [--topic NAME]...`.

They listen on 127.0.0.1 alone, on ports that are free, and their data is removed at the end.
"""

from __future__ import annotations

import signal
import threading
from contextlib import suppress

import click

from leadsman.errors import LeadsmanError
from leadsman.lab.brokers.cluster import Cluster, ClusterPlan, versions


@click.command(help=__doc__)
@click.option("--brokers", type=click.IntRange(1, 9), default=1, show_default=True, help="How many.")
@click.option("--kafka", type=click.Choice(versions()), default=ClusterPlan().kafka, show_default=True, help="Version.")
@click.option("--topic", "topics", multiple=True, metavar="NAME", help="A topic to create. Can be repeated.")
@click.option("--partitions", type=click.IntRange(1, 100), default=1, show_default=True, help="Of each topic.")
def main(brokers: int, kafka: str, topics: tuple[str, ...], partitions: int) -> None:
    """Start brokers, print their address, and wait for Ctrl-C."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # `kill` cleans up as Ctrl-C does
    click.echo(f"Starting Kafka {kafka} ...", err=True)
    with suppress(KeyboardInterrupt):
        try:
            _keep(ClusterPlan(brokers=brokers, kafka=kafka), topics, partitions)
        except LeadsmanError as error:
            raise click.ClickException(str(error)) from error


def _keep(plan: ClusterPlan, topics: tuple[str, ...], partitions: int) -> None:
    """Print the address once every topic is there, so that a script may wait for that line."""
    with Cluster(plan) as cluster:
        for topic in topics:
            cluster.create_topic(topic, partitions=partitions, replicas=plan.brokers)
        click.echo(cluster.bootstrap)
        click.echo("Ctrl-C stops the brokers and removes their data.", err=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
