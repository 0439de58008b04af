"""`leadsman daemon`: a warm session of the user's own, for commands that follow one another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from leadsman.cli.parts import need
from leadsman.cli.progress import progress
from leadsman.errors import LeadsmanError
from leadsman.resident.client import SWITCH, connected
from leadsman.resident.place import address, addresses, made_folder

if TYPE_CHECKING:
    from pathlib import Path

START = timedelta(minutes=3)
IDLE_MINUTES = 30.0


EPILOG = """\b
Examples:
  leadsman daemon start                       then: leadsman diagnose ./logs, as often as you like
  leadsman daemon start --idle-minutes 240    for an afternoon
  leadsman daemon status && echo warm         in a script
  LEADSMAN_DAEMON=off leadsman diagnose ./logs
"""


@click.group(epilog=EPILOG)
def command() -> None:
    """Keep Spark running between commands: `diagnose` and `changes` then start at once.

    Opt-in: nothing runs that you did not start. The daemon is yours alone (a socket that only you can open), answers
    one command at a time, and ends itself when it has nothing to do. Commands find it by themselves and give the same
    answers as without it; one that asks for a Spark of its own (--master, --remote, --spark-conf, --table), that reads
    a pipe, or that finds it busy or of another version runs by itself. LEADSMAN_DAEMON=off ignores it.
    """


@command.command()
@click.option(
    "--idle-minutes", type=click.FloatRange(min=0.01), default=IDLE_MINUTES, show_default=True, help="Then it ends."
)
def start(idle_minutes: float) -> int:
    """Start it, and wait until it is warm."""
    need("spark", "daemon")
    made_folder()
    place = address()
    if _told(place, "status"):
        click.echo("The daemon runs already.")
        return 0
    from leadsman.waiting import wait_for  # noqa: PLC0415 - here only

    log = made_folder() / "daemon.log"
    words = [sys.executable, "-m", "leadsman", "daemon", "run", "--idle-minutes", str(idle_minutes)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd="/", start_new_session=True
        )
    try:
        with progress("Starting Spark and a worker"):
            wait_for(lambda: _told(place, "status") or process.poll() is not None, within=START, what="the daemon")
    except BaseException:
        process.terminate()
        raise
    if process.poll() is not None:
        raise LeadsmanError(f"The daemon did not start: {_last_line(log)} Its log: {log}")
    click.echo(
        f"The daemon is warm. `leadsman diagnose` and `changes` use it by themselves. It ends when it has had nothing "
        f"to do for {idle_minutes:g} min, or by: leadsman daemon stop"
    )
    return 0


@command.command()
def stop() -> int:
    """Stop it, and those of other versions."""
    stopped = [told for place in addresses() if (told := _told(place, "stop"))]
    click.echo("The daemon is stopped." if stopped else "No daemon runs, or it is busy. See: leadsman daemon status")
    return 0


@command.command()
def status() -> int:
    """Say whether it runs. Exit code 0 where commands use it, else 1."""
    places = addresses()
    told = _told(address(), "status") if places else None
    others = [place for place in places if place != address() and _told(place, "status")]
    if os.environ.get(SWITCH) == "off":
        click.echo(f"{SWITCH}=off: commands ignore the daemon.")
    if told:
        minutes = told["idle_seconds"] / 60
        click.echo(f"The daemon runs (process {told['pid']}); it ends after {minutes:g} idle minutes.")
    else:
        click.echo("No daemon is free that runs this version. Start one: leadsman daemon start")
    if others:
        click.echo(f"{len(others)} of another version runs. Stop it: leadsman daemon stop")
    return 0 if told else 1


@command.command(hidden=True)
@click.option("--idle-minutes", type=float, default=IDLE_MINUTES)
def run(idle_minutes: float) -> int:
    """Be the daemon."""
    from leadsman.cli.group import run as run_command  # noqa: PLC0415 - it imports this module's name only
    from leadsman.pipeline.session import session  # noqa: PLC0415 - Spark is loaded only now
    from leadsman.resident.server import serve  # noqa: PLC0415

    with session() as spark:
        _warm(spark)
        anew = serve(run_command, idle_seconds=idle_minutes * 60)
    if anew:
        words = [sys.executable, "-m", "leadsman", "daemon", "run", "--idle-minutes", str(idle_minutes)]
        os.execv(sys.executable, words)  # noqa: S606 - ourselves
    return 0


def _warm(spark: Any) -> None:  # noqa: ANN401 - Spark is not loaded where this is read
    """Diagnose one recording, so that a worker and its engine are there, and all code is loaded."""
    from leadsman.catalogue import every_mode  # noqa: PLC0415 - Spark is loaded only now
    from leadsman.pipeline.diagnose import diagnose  # noqa: PLC0415
    from leadsman.pipeline.question import Question, look, read_small  # noqa: PLC0415

    recordings = [str(folder) for mode in every_mode() for folder in mode.recordings()[:1]]
    diagnose(spark, read_small(look(recordings)), Question(modes=every_mode()))


def _told(place: Path, what: str) -> dict[str, Any] | None:
    """Return the daemon's answer; None where none is there that is free."""
    try:
        with connected(place) as connection:
            connection.sendall(b"f" + json.dumps({"do": what}).encode() + b"\n")
            with connection.makefile("rb") as stream:
                told: dict[str, Any] = json.loads(stream.readline())
                return told
    except (OSError, ValueError):
        return None


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing."
