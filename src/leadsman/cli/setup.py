"""`leadsman setup`: everything that later runs would otherwise fetch or make."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leadsman.cli.parts import need
from leadsman.errors import MissingPart

if TYPE_CHECKING:
    from collections.abc import Iterable

EPILOG = """\b
Examples:
  leadsman setup                    jars, and the fast start
  leadsman setup --no-fast-start    jars only
  leadsman setup --executors executors.tar.gz   what a bare cluster needs: docs/scale.md
"""


@click.command("setup", epilog=EPILOG)
@click.option(
    "--fast-start/--no-fast-start",
    default=True,
    show_default=True,
    help="Make the class archive (about 150 MB) that makes Spark start twice as fast.",
)
@click.option("--again", is_flag=True, help="Make the archive even if there is one.")
@click.option(
    "--executors",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Only write the Python packages that executors need into this .tar.gz, for `diagnose --executors`.",
)
def command(*, fast_start: bool, again: bool, executors: Path | None) -> None:
    """Fetch the pinned jars, compile the Java programs, and archive the classes that a diagnosis loads.

    Everything lands in ~/.cache/leadsman (XDG_CACHE_HOME moves it). A second call finds it there and needs no network.
    """
    need("spark", "setup")
    if executors is not None:
        _write_archive(executors)
        return
    from leadsman import jars, java  # noqa: PLC0415 - only this command needs them

    _say(f"Java: {java.find()}")
    for name in (each for each in jars.lock() if each not in jars.FOR_TESTS):
        started = time.monotonic()
        count = len(jars.fetch(name))
        _say(f"{name}: {count} jars ({time.monotonic() - started:.1f} s)")
    from leadsman.pipeline import remote_files  # noqa: PLC0415

    _say(f"functions that read remote files: {remote_files.jar()}")
    _compile_programs()
    if fast_start:
        _archive(again=again)


def _write_archive(target: Path) -> None:
    from leadsman.pipeline.executors import make_archive  # noqa: PLC0415

    _say(
        f"executors: {target}, {make_archive(target) / 1e6:.0f} MB. Use it: leadsman diagnose ... --executors {target}"
    )


def _compile_programs() -> None:
    try:
        need("lab", "setup")
    except MissingPart:
        return  # without the lab there is nothing to compile
    from leadsman.lab.clients import compile_programs  # noqa: PLC0415

    _say(f"Java programs: {len(compile_programs())} compiled")


def _archive(*, again: bool) -> None:
    from leadsman import java  # noqa: PLC0415
    from leadsman.pipeline import jvm  # noqa: PLC0415

    archive = jvm.archive_of(java.find(), jvm.class_path(()))
    if jvm.usable(archive) and not again:
        _say("fast start: ready")
        return
    _say("fast start: archiving the classes of one diagnosis (a minute at most)")
    _diagnose_recordings()
    _say("fast start: ready" if jvm.usable(archive) else "fast start: not possible here; Spark starts as usual")


def _diagnose_recordings() -> None:
    """Run a real diagnosis, so that the archive holds what one needs."""
    from leadsman.catalogue import every_mode  # noqa: PLC0415
    from leadsman.pipeline.diagnose import diagnose  # noqa: PLC0415
    from leadsman.pipeline.question import Question, look, read_small  # noqa: PLC0415
    from leadsman.pipeline.session import Wanted, session  # noqa: PLC0415

    captures = [str(folder) for mode in every_mode() for folder in mode.recordings()]
    with session(Wanted(dump_archive=True)) as spark:
        diagnose(spark, read_small(look(_some(captures))), Question(modes=every_mode(), points=True))


def _some(captures: Iterable[str]) -> list[str]:
    return list(captures)[:3]


def _say(text: str) -> None:
    click.echo(f"setup: {text}", file=sys.stderr)
