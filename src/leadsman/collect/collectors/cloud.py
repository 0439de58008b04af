"""Files that a cloud provider's tool wrote about hosts: maintenance, failures, inventories, policies."""

from __future__ import annotations

import shlex
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from leadsman.collect.collector import Collector, NotCollected, Probe
from leadsman.telemetry.source import output_source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

RECOGNISED_BY_BYTES = 1 << 18
"""The first bytes of a file, by which its source is recognised, as when a capture is read."""


@contextmanager
def probes(*, files: tuple[Path, ...]) -> Iterator[Iterable[Probe]]:
    """Yield one probe for each file."""
    yield (_probe(file) for file in files)


def _probe(file: Path) -> Probe:
    return Probe(
        file=f"cloud/{file.name.replace(' ', '_')}",
        source="cloud",
        shell_command=f"cat {shlex.quote(str(file))}",
        read=partial(_lines, file),
        in_series=False,
        note=_note(file),
    )


def _note(file: Path) -> str:
    """Return what the file is, so that a wrong file is noticed while it can still be replaced."""
    try:
        with file.open("rb") as opened:
            known = output_source(opened.read(RECOGNISED_BY_BYTES))
    except OSError:
        return ""  # reading the file reports the reason
    return known.title if known else "not recognised: copied as it is"


def _lines(file: Path) -> Iterator[str]:
    try:
        with file.open(encoding="utf-8", errors="surrogateescape") as opened:
            yield from _whole_lines(opened)
    except OSError as error:
        raise NotCollected(f"{file}: {error.strerror or error}") from error


def _whole_lines(opened: IO[str]) -> Iterator[str]:
    for line in opened:
        yield line if line.endswith("\n") else f"{line}\n"


def _parameters() -> tuple[click.Parameter, ...]:
    readable: Any = click.Path(path_type=Path)
    return (click.Argument(["files"], nargs=-1, required=True, type=readable, metavar="FILE..."),)


HELP = """Copy files about the brokers' hosts into the capture, secrets masked. leadsman does not call the cloud
provider: write the files with the provider's own tool:

\b
  gcloud logging read 'protoPayload.methodName:"compute.instances" AND logName:"system_event"' --format=json
  gcloud compute instances list --format=json
  aws ec2 describe-instance-status --include-all-instances
  aws ec2 describe-instances        aws ec2 describe-network-interfaces
\b
On the host itself:
  curl -H Metadata-Flavor:Google metadata.google.internal/computeMetadata/v1/instance/maintenance-event
  curl http://169.254.169.254/latest/meta-data/events/maintenance/history
  curl -H Metadata:true 'http://169.254.169.254/metadata/scheduledevents?api-version=2020-07-01'
"""

COLLECTOR = Collector(
    title="Maintenance, failures and inventories of a cloud, from files",
    help=HELP,
    parameters=_parameters(),
    probes=probes,
    examples=("leadsman collect cloud system-events.json status.json --out incident --as kafka-2",),
)
