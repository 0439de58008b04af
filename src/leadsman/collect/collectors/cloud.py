"""What a cloud says of its hosts, from files: maintenance, failures, inventories, policies; copied with a note each."""

from __future__ import annotations

import shlex
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from leadsman.collect.collector import Collector, CouldNotBeHad, Probe
from leadsman.telemetry.source import source_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TOLD_BY_BYTES = 1 << 18
"""A file's beginning, by which it is told: what the reader looks at too."""


@contextmanager
def probes(*, files: tuple[Path, ...]) -> Iterator[Iterable[Probe]]:
    """Yield one probe a file."""
    yield (_probe(file) for file in files)


def _probe(file: Path) -> Probe:
    return Probe(
        file=f"cloud/{file.name.replace(' ', '_')}",
        source="cloud",
        typed=f"cat {shlex.quote(str(file))}",
        take=partial(_lines, file),
        again=False,
        note=_note(file),
    )


def _note(file: Path) -> str:
    """Say what the file is, so that nobody finds out later that it was the wrong one."""
    try:
        with file.open("rb") as opened:
            known = source_of(opened.read(TOLD_BY_BYTES))
    except OSError:
        return ""  # taking it will say why
    return known.title if known else "not recognised: kept as it is"


def _lines(file: Path) -> Iterator[str]:
    try:
        with file.open(encoding="utf-8", errors="surrogateescape") as opened:
            yield from _whole_lines(opened)
    except OSError as error:
        raise CouldNotBeHad(f"{file}: {error.strerror or error}") from error


def _whole_lines(opened: IO[str]) -> Iterator[str]:
    for line in opened:
        yield line if line.endswith("\n") else f"{line}\n"


def _parameters() -> tuple[click.Parameter, ...]:
    readable: Any = click.Path(path_type=Path)
    return (click.Argument(["files"], nargs=-1, required=True, type=readable, metavar="FILE..."),)


HELP = """Copy what a cloud said of the brokers' hosts into the capture, secrets masked. Nothing is asked of a cloud
here; make the files with its own program:

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
    title="Maintenance, failures and inventories that a cloud reported, from files",
    help=HELP,
    parameters=_parameters(),
    probes=probes,
    examples=("leadsman collect cloud system-events.json status.json --out incident --as kafka-2",),
)
