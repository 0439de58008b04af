"""`leadsman setup`: fetches and prepares everything that later runs need."""

from __future__ import annotations

import time
from pathlib import Path

import click

from leadsman.cli.extras import require_extra
from leadsman.cli.terminal import echo
from leadsman.errors import MissingExtra

CAPTURES_DIAGNOSED = 3

EPILOG = """\b
Examples:
  leadsman setup                    jars, and the fast start
  leadsman setup --no-fast-start    jars only
  leadsman setup --executors executors.tar.gz   for executors without Python packages: docs/scale.md
  leadsman setup --application leadsman.py      leadsman as one file for spark-submit: docs/watch.md
"""


@click.command("setup", epilog=EPILOG)
@click.option(
    "--fast-start/--no-fast-start",
    default=True,
    show_default=True,
    help="Make the class archives (about 200 MB) with which Spark starts twice as fast, and the lab's brokers sooner.",
)
@click.option("--again", is_flag=True, help="Make the archives even if there are some.")
@click.option(
    "--executors",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Only write the Python packages that executors need into this .tar.gz, for `diagnose --executors`.",
)
@click.option(
    "--application",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.py",
    help="Only write leadsman as one file for spark-submit. With --executors, the packages include those of a driver.",
)
def command(*, fast_start: bool, again: bool, executors: Path | None, application: Path | None) -> None:
    """Fetch the pinned jars, compile the Java programs, and archive the classes that a diagnosis loads.

    All files are written to ~/.cache/leadsman (or below XDG_CACHE_HOME). A second call needs no network.
    """
    require_extra("spark", "setup")
    if application is not None:
        _write_application(application)
    if executors is not None:
        _write_archive(executors, driver=application is not None)
    if application or executors:
        return
    from leadsman.java import jars, recipes, runtime  # only this command needs them

    _show_step(f"Java: {runtime.find_java()}")
    for name in (each for each in jars.jar_sets() if each not in recipes.TEST_SETS):
        started = time.monotonic()
        count = len(jars.fetch_jars(name))
        _show_step(f"{name}: {count} jars ({time.monotonic() - started:.1f} s)")
    from leadsman.pipeline.scope import remote_files

    _show_step(f"functions that read remote files: {remote_files.jar()}")
    _compile_programs()
    if fast_start:
        _archive(again=again)
        _archive_brokers(again=again)


def _write_application(target: Path) -> None:
    from leadsman.pipeline.spark.application_file import make_application

    size = make_application(target) / 1e6
    _show_step(f"application: {target}, {size:.1f} MB. Use it: spark-submit {target} watch ... --to FOLDER")


def _write_archive(target: Path, *, driver: bool) -> None:
    from leadsman.pipeline.spark.executors import FOLDER, make_archive

    size = make_archive(target, driver=driver) / 1e6
    use = f"spark-submit --archives {target}#{FOLDER} ..." if driver else f"leadsman diagnose ... --executors {target}"
    _show_step(f"executors: {target}, {size:.0f} MB. Use it: {use}")


def _compile_programs() -> None:
    try:
        require_extra("lab", "setup")
    except MissingExtra:
        return  # only the lab has Java programs
    from leadsman.lab.workload.clients import compile_programs

    _show_step(f"Java programs: {len(compile_programs())} compiled")


def _archive(*, again: bool) -> None:
    from leadsman.java import runtime
    from leadsman.java.class_archives import is_archive_complete
    from leadsman.pipeline.spark import jvm

    archive = jvm.archive_path(runtime.find_java())
    if is_archive_complete(archive) and not again:
        _show_step("fast start: ready")
        return
    _show_step("fast start: archiving the classes of one diagnosis (a minute at most)")
    _diagnose_recordings()
    _show_step(
        "fast start: ready"
        if is_archive_complete(archive)
        else "fast start: not possible on this machine; Spark starts as usual"
    )


def _archive_brokers(*, again: bool) -> None:
    try:
        require_extra("lab", "setup")
    except MissingExtra:
        return
    from leadsman.java.class_archives import is_archive_complete
    from leadsman.lab.brokers.fast_start import archive_broker_classes, broker_archive

    if again or not is_archive_complete(broker_archive()):
        _show_step("fast start of brokers: archiving the classes of one broker (half a minute at most)")
        archive_broker_classes()
    is_ready = is_archive_complete(broker_archive())
    _show_step(f"fast start of brokers: {'ready' if is_ready else 'not possible on this machine; they start as usual'}")


def _diagnose_recordings() -> None:
    """Run a real diagnosis, so that the archive holds the classes of one."""
    from leadsman.catalogue import every_mode
    from leadsman.pipeline.diagnose import diagnose
    from leadsman.pipeline.request import DiagnosisRequest, find_input, read_small_input
    from leadsman.pipeline.spark.session import SessionOptions, session

    captures = [str(folder) for mode in every_mode() for folder in mode.recordings()]
    with session(SessionOptions(dump_archive=True)) as spark:
        diagnose(
            spark,
            read_small_input(find_input(captures[:CAPTURES_DIAGNOSED])),
            DiagnosisRequest(modes=every_mode(), points=True),
        )


def _show_step(text: str) -> None:
    echo(f"setup: {text}", err=True)
