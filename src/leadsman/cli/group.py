"""The `leadsman` command. A subcommand's module is imported only when it is called, so that --help is quick."""

from __future__ import annotations

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
from leadsman.cli.settings import FILE, defaults, tables
from leadsman.errors import LeadsmanError, UsageError
from leadsman.resident.client import handed_over

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "collect": "Write a capture from a running system: Kafka, a JVM, metrics, logs.",
    "diagnose": "Name the root cause that logs show, with its evidence.",
    "changes": "Say what changed between two times, or two captures.",
    "reproduce": "Make a failure happen on a real broker, or show its cure.",
    "sweep": "Measure which client setting decides, over a grid of values.",
    "remedy": "Cure a running system: shown first, then asked, then verified.",
    "check": "Say what would go wrong, before it ships.",
    "explain": "Explain one failure mode: symptoms, cause, proof, cure.",
    "modes": "List the failure modes that can be told apart.",
    "demo": "Reproduce, diagnose and cure one failure in a minute.",
    "daemon": "Keep Spark running between commands, so that they start at once.",
    "config": "Show every setting, its value and where it came from.",
    "doctor": "Say what this machine can and cannot do.",
    "setup": "Fetch jars and prepare the fast start; later runs need no network.",
    "new-mode": "Write the folder of a new failure mode, to be filled in.",
}

COULD_NOT_RUN = 2
INTERRUPTED = 130

EPILOG = """\b
Examples:
  leadsman diagnose ./logs                      what broke, and why
  leadsman diagnose ./logs --out report         the same as a page to send around
  leadsman diagnose ./logs --format json        the same for a program
  leadsman changes ./logs --between T1 T2       what changed before it broke
  leadsman reproduce idle_disconnect            is it really that?
  leadsman explain idle_disconnect              the whole story of one mode

\b
Settings: flags, LEADSMAN_<COMMAND>_<OPTION>, leadsman.toml (see: leadsman config)

\b
Shell completion:
  bash  eval "$(_LEADSMAN_COMPLETE=bash_source leadsman)"
  zsh   eval "$(_LEADSMAN_COMPLETE=zsh_source leadsman)"
  fish  _LEADSMAN_COMPLETE=fish_source leadsman | source
"""


class Lazy(click.Group):
    """Commands by name; their modules are imported on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names, in the order in which one meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import the command's module and return its command."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"leadsman.cli.{cmd_name.replace('-', '_')}").command
        command.short_help = COMMANDS[cmd_name]
        return command

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - click's signature
        """Run the command; a call whose words are off is told where to look them up."""
        try:
            return super().invoke(ctx)
        except UsageError as error:
            if "leadsman " not in str(error):
                words = " ".join(filter(None, ("leadsman", ctx.invoked_subcommand, "--help")))
                error.add_note(f"See: {words}")
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """List the commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=Lazy, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="leadsman")
@click.option(
    "--config",
    "config_file",
    type=click.Path(dir_okay=False),
    envvar="LEADSMAN_CONFIG",
    help="Settings file.  [default: ./leadsman.toml, if it is there]",
)
@click.pass_context
def group(ctx: click.Context, config_file: str | None) -> None:
    """Name the root cause of Kafka client incidents while every broker dashboard is green."""
    assert isinstance(ctx.command, click.Group)
    file = config_file or FILE
    ctx.auto_envvar_prefix = "LEADSMAN"
    ctx.default_map = defaults(tables(config_file), partial(ctx.command.get_command, ctx), file)
    ctx.meta["leadsman.file"] = file


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command, here or in the user's daemon, and end the process with its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    code = handed_over(words)
    sys.exit(run(words) if code is None else code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0, 1, 2 or 3 as `leadsman diagnose --help` says, 130 after Ctrl-C."""
    if os.environ.get("LEADSMAN_DEBUG"):
        logging.basicConfig(format="%(asctime)s %(name)s: %(message)s")
        logging.getLogger("leadsman").setLevel(logging.DEBUG)
    else:
        logging.getLogger().addHandler(logging.NullHandler())  # py4j complains there of a connection that we closed
    interrupts = _interrupts()
    try:
        answer: Any = group.main(args=arguments, prog_name="leadsman", standalone_mode=False)
    except SystemExit as error:  # click's answer to a closed pipe is 1, which means PRESENT here
        return COULD_NOT_RUN if error.code else 0
    except Exception as error:  # noqa: BLE001 - the process's edge: a bug must not look like exit code 1, "PRESENT"
        if interrupts or isinstance(error, click.exceptions.Abort):
            click.echo("leadsman: interrupted; everything that was started has been stopped.", err=True)
            return INTERRUPTED
        if isinstance(error, click.ClickException):
            error.show()
        else:
            click.echo(_said(error), err=True)
        return COULD_NOT_RUN
    return answer if isinstance(answer, int) else 0


def _interrupts() -> list[int]:
    """Note each Ctrl-C in the list returned: one that strikes in a call into the JVM comes back as another error."""
    noted: list[int] = []

    def note(number: int, _frame: object) -> None:
        noted.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, note)
    return noted


def _said(error: Exception) -> str:
    """Return what the person at the keyboard is told."""
    match error:
        case LeadsmanError():
            return "\n".join((f"leadsman: {error}", *getattr(error, "__notes__", ())))
        case OSError():
            at = f" ({error.filename})" if error.filename else ""
            return f"leadsman: the system refused: {error.strerror or error}{at}."
    return f"leadsman: a fault of leadsman's own: {type(error).__name__}: {_first_line(error)}\n{_where(error)}"


def _first_line(error: Exception) -> str:
    """Return what matters of an error; those of Spark bring the whole stack of the JVM along."""
    return (str(error).strip().splitlines() or [""])[0][:500]


def _where(error: Exception) -> str:
    """Return the whole traceback where LEADSMAN_DEBUG asks for it, else the place and how to see more."""
    if os.environ.get("LEADSMAN_DEBUG"):
        return "".join(traceback.format_exception(error))
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"It happened in {Path(frame.filename).name}, line {frame.lineno}. With LEADSMAN_DEBUG=1 you see all of it."
