"""Whether the options of `leadsman watch` fit each other, before anything is started."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from leadsman.collect.kafka.bootstrap_servers import parse_servers
from leadsman.errors import UsageError
from leadsman.pipeline.scope.streams import is_url

if TYPE_CHECKING:
    from collections.abc import Sequence


def check_watch_options(options: dict[str, Any]) -> None:
    """Raise UsageError where options do not fit each other."""
    _check_sources(options)
    _check_listening(options)
    for flag, name in (("speed", "--speed"), ("until_end", "--until-end")):
        if options[flag] and not options["replay"]:
            raise UsageError(f"{name} is for --replay: telemetry that is still written has no end.")
    if options["until_end"]:
        for name in ("retention", "resolved_after", "notify", "history_topic", "serve"):
            if options[name] not in {None, ()}:
                raise UsageError(f"--{name.replace('_', '-')} is for a watch that goes on, not for --until-end.")
    if options["token_file"] and not options["serve"]:
        raise UsageError("--token-file is for --serve.")
    if options["format"] != "console" and not options["until_end"]:
        raise UsageError("--format is for --until-end. Without it, each change of a finding is one line.")


def _check_sources(options: dict[str, Any]) -> None:
    if not any(options[name] for name in ("paths", "kafka", "prometheus", "listen")):
        raise UsageError(
            "Nothing to watch. Give folders of logs or URLs such as s3a://bucket/logs, --kafka HOST:PORT with "
            "--topic NAME, --prometheus URL, or --listen ADDRESS:PORT."
        )
    _check_kafka(options)
    if options["to"] and (inside := _watched_state(options["paths"], options["to"])):
        raise UsageError(f"{inside} is in the folder of the state, --to {options['to']}: a watch cannot read its own.")
    if options["replay"] and any(options[name] for name in ("kafka", "prometheus", "listen")):
        raise UsageError("--replay is for captures alone, without --kafka, --prometheus and --listen.")
    if options["replay"] and (not options["paths"] or any(map(is_url, options["paths"]))):
        raise UsageError("--replay takes the paths of captures on this machine.")


def _check_kafka(options: dict[str, Any]) -> None:
    if bool(options["kafka"]) != bool(options["topic"]):
        raise UsageError("--kafka and --topic belong together: --kafka broker:9092 --topic logs.")
    for name in ("command_config", "from"):
        source = click.get_current_context().get_parameter_source(name)
        if source is ParameterSource.COMMANDLINE and not options["kafka"]:
            raise UsageError(f"--{name.replace('_', '-')} is for --kafka.")
    parse_servers(options["kafka"] or "", "--kafka")


def _watched_state(paths: Sequence[str], folder: Path) -> str | None:
    """Return the path that is the folder of the state, or in it. A state in a watched folder is left out."""
    state = folder.resolve()
    return next((path for path in paths if not is_url(path) and Path(path).resolve().is_relative_to(state)), None)


def _check_listening(options: dict[str, Any]) -> None:
    if bool(options["listen"]) != bool(options["listen_token_file"]):
        raise UsageError(
            "--listen and --listen-token-file belong together: who can reach the address must not write events into "
            "the capture. Make a token: openssl rand -hex 32 > token"
        )
