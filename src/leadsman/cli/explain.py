"""`leadsman explain MODE`: the whole story of one failure mode."""

from __future__ import annotations

import click

from leadsman.catalogue import every_mode, modes_named


def _names(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    return [mode.name for mode in every_mode() if mode.name.startswith(incomplete)]


@click.command("explain", short_help="Explain one failure mode: symptoms, cause, proof, cure.")
@click.argument("mode", shell_complete=_names)
def command(mode: str) -> None:
    """Print the page of a failure mode: what you see, why, how to be sure, how to cure it, what it does not cover."""
    from leadsman.report.explain import explain  # noqa: PLC0415 - rich is loaded only now

    (chosen,) = modes_named([mode])
    explain(chosen.card, chosen.page, chosen.excerpt())
