"""The `leadsman` command. A subcommand's module is imported only when the subcommand runs, so that --help is quick."""

from __future__ import annotations

import io
import logging
import os
import signal
import sys
import threading
import traceback
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leadsman import __version__
from leadsman.cli.settings import FILE, Settings, read_settings, user_file
from leadsman.cli.terminal import echo, visible
from leadsman.daemon.client import run_in_daemon
from leadsman.errors import LeadsmanError, UsageError
from leadsman.interrupt import is_interrupt, repeat_lost_interrupts
from leadsman.redaction import mask

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "collect": "Write a capture from a running system: Kafka, a JVM, logs.",
    "diagnose": "Name the root cause that logs show, with its evidence.",
    "watch": "Report failures while logs are written: open, update, resolve.",
    "changes": "Show what changed between two times, or two captures.",
    "reproduce": "Reproduce a failure on a real broker, with or without its cure.",
    "sweep": "Measure which client setting decides, over a grid of values.",
    "remedy": "Cure a running system: show the plan, ask, do it, verify.",
    "alerts": "Write Prometheus rules that report these failures, with tests.",
    "dashboards": "Write Grafana dashboards: metrics that show each failure.",
    "check": "Find settings that would cause a failure, before the failure.",
    "explain": "Explain one failure mode: symptoms, cause, proof, cure.",
    "modes": "List the failure modes that leadsman knows.",
    "demo": "Reproduce, diagnose and cure one failure in a minute.",
    "daemon": "Keep Spark running, so that commands start at once.",
    "config": "Show every setting, its value and where it came from.",
    "doctor": "Check which features this machine can run.",
    "setup": "Fetch jars and prepare the fast start, before the first run.",
    "new-mode": "Write the folder of a new failure mode from a template.",
}

NAMES_SHOWN, NAME_CHARACTERS = 8, 60
"""Of the settings that are ignored."""

COULD_NOT_RUN = 2
INTERRUPTED = 130

EPILOG = """\b
Examples:
  leadsman diagnose ./logs                      what broke, and why
  leadsman diagnose ./logs --out report         the same as a page to send around
  leadsman diagnose ./logs --format json        the same for a program
  leadsman changes ./logs --between T1 T2       what changed before it broke
  leadsman reproduce idle_disconnect            reproduce the failure
  leadsman explain idle_disconnect              symptoms, cause, proof and cure

\b
Settings: flags, LEADSMAN_<COMMAND>_<OPTION>, leadsman.toml (see: leadsman config)

\b
Shell completion:
  bash  eval "$(_LEADSMAN_COMPLETE=bash_source leadsman)"
  zsh   eval "$(_LEADSMAN_COMPLETE=zsh_source leadsman)"
  fish  _LEADSMAN_COMPLETE=fish_source leadsman | source
"""


class LazyGroup(click.Group):
    """Commands by name; their modules are imported on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names, in the order of use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import the command's module and return its command."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"leadsman.cli.commands.{cmd_name.replace('-', '_')}").command
        command.short_help = COMMANDS[cmd_name]
        return command

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - click's signature
        """Run the command; a usage error names the help of the command."""
        try:
            return super().invoke(ctx)
        except UsageError as error:
            if "leadsman " not in str(error):
                help_call = " ".join(filter(None, ("leadsman", ctx.invoked_subcommand, "--help")))
                error.add_note(f"See: {help_call}")
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """List the commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=LazyGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="leadsman")
@click.option(
    "--config",
    "config_file",
    type=click.Path(dir_okay=False),
    envvar="LEADSMAN_CONFIG",
    help="Settings file, instead of ~/.config/leadsman/leadsman.toml and ./leadsman.toml",
)
@click.pass_context
def group(ctx: click.Context, config_file: str | None) -> None:
    """Name the root cause of Kafka client incidents while every broker dashboard is green."""
    assert isinstance(ctx.command, click.Group)
    ctx.auto_envvar_prefix = "LEADSMAN"
    settings = read_settings(config_file, partial(ctx.command.get_command, ctx))
    ctx.default_map = settings.defaults
    ctx.meta["leadsman.files"] = settings.files
    _report_local_settings(settings)


def _report_local_settings(settings: Settings) -> None:
    """Print what the file in the current folder sets, and what it may not set: the folder can be anybody's."""
    used = [f"{command}.{setting}" for (command, setting), file in settings.files.items() if file == FILE]
    if used:
        echo(f"Settings from ./{FILE}: {', '.join(used)}", err=True)
    if settings.refused:
        echo(
            f"Ignored in ./{FILE}: {_first(settings.refused)}. Such settings can run code. "
            f"Where you trust the file: --config {FILE}, or move them to {user_file()}",
            err=True,
        )
    if settings.unknown:
        echo(f"Ignored in ./{FILE}: {_first(settings.unknown)}. See: leadsman config", err=True)


def _first(names: Sequence[str]) -> str:
    """Return the first names, each in one line and cut to a length that people write: a stranger chose them."""
    shown = [mask(" ".join(each.split()))[:NAME_CHARACTERS] for each in names[:NAMES_SHOWN]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command, here or in the user's daemon, and end the process with its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        code = run_in_daemon(given)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    if code is None:
        repeat_lost_interrupts()
        code = run(given)
    sys.exit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0, 1, 2 or 3 as `leadsman diagnose --help` says, 130 after Ctrl-C."""
    if os.environ.get("LEADSMAN_DEBUG"):
        logging.basicConfig(handlers=[_masked_log()])
        logging.getLogger("leadsman").setLevel(logging.DEBUG)
    else:
        logging.getLogger().addHandler(logging.NullHandler())  # py4j complains there of a connection that we closed
    interrupts = _record_interrupts()
    try:
        answer: Any = group.main(args=arguments, prog_name="leadsman", standalone_mode=False)
    except SystemExit as error:  # click's answer to a closed pipe is 1, which means PRESENT here
        return COULD_NOT_RUN if error.code else 0
    except Exception as error:  # noqa: BLE001 - the process's edge: a bug must not look like exit code 1, "PRESENT"
        if interrupts or is_interrupt(error) or isinstance(error, click.exceptions.Abort):
            echo("leadsman: interrupted; all started programs have been stopped.", err=True)
            return INTERRUPTED
        if isinstance(error, click.ClickException):
            text = io.StringIO()
            error.show(text)
            echo(mask(text.getvalue()), err=True, nl=False)
        else:
            echo(mask(_error_message(error)), err=True)
        return COULD_NOT_RUN
    return answer if isinstance(answer, int) else 0


def _masked_log() -> logging.Handler:
    """Return a handler for standard error that masks secrets: an error of Spark can quote a line or a setting."""

    class Formatter(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return visible(mask(super().format(record)))

    handler = logging.StreamHandler()
    handler.setFormatter(Formatter("%(asctime)s %(name)s: %(message)s"))
    return handler


def _record_interrupts() -> list[int]:
    """Record each Ctrl-C in the returned list: during a call into the JVM, a Ctrl-C surfaces as another error."""
    interrupts: list[int] = []

    def record(number: int, _frame: object) -> None:
        interrupts.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, record)
    return interrupts


def _error_message(error: Exception) -> str:
    """Return the message for standard error."""
    match error:
        case LeadsmanError():
            return "\n".join((f"leadsman: {error}", *getattr(error, "__notes__", ())))
        case OSError():
            at = f" ({error.filename})" if error.filename else ""
            return f"leadsman: {error.strerror or error}{at}."
    return f"leadsman: internal error: {type(error).__name__}: {_first_line(error)}\n{_traceback_or_hint(error)}"


def _first_line(error: Exception) -> str:
    """Return the first line of an error; an error of Spark contains the whole stack trace of the JVM."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - py4j asks the JVM for the text of its errors, and the JVM may have ended
        text = "its text was in a process that has ended"
    return (text.strip().splitlines() or [""])[0][:500]


def _traceback_or_hint(error: Exception) -> str:
    """Return the traceback where LEADSMAN_DEBUG is set, else the location and how to see the traceback."""
    if os.environ.get("LEADSMAN_DEBUG"):
        return "".join(traceback.format_exception(error))
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"Raised in {Path(frame.filename).name}, line {frame.lineno}. Set LEADSMAN_DEBUG=1 to see the traceback."
