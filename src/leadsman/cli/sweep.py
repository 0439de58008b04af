"""`leadsman sweep MODE`: the setting that decides, measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leadsman import defaults
from leadsman.catalogue import modes_named
from leadsman.cli.complete import mode_names
from leadsman.cli.parts import need
from leadsman.cli.progress import steps
from leadsman.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leadsman.lab.experiment import Experiment
    from leadsman.lab.sweep.conclusion import Conclusion
    from leadsman.lab.sweep.grid import Axis, Cell, Try
    from leadsman.lab.sweep.journal import Journal
    from leadsman.lab.sweep.play import Player

EPILOG = """\b
Examples:
  leadsman sweep leaderless_partition --set default.api.timeout.ms=5s,15s,60s --set retries=0,100
  leadsman sweep leaderless_partition --set default.api.timeout.ms=5s,60s --client java@2.7.2 --client java@4.3.1
  leadsman sweep idle_disconnect --set connections.max.idle.ms=1s,2s,4s --client java --repeats 3

\b
A second start with the same --out goes on where the first ended; more values or repeats are played in addition.

\b
Exit codes: 0 the grid was played; 2 it could not be; 130 after Ctrl-C, with all that was played in the journal.
"""


@click.command("sweep", epilog=EPILOG)
@click.argument("mode", shell_complete=mode_names)
@click.option(
    "--set",
    "settings",
    multiple=True,
    required=True,
    metavar="NAME=VALUE,...",
    help="A client setting, by the name of Kafka's Java documentation, and its values. Repeat it for a grid.",
)
@click.option("--repeats", type=click.IntRange(1), default=1, show_default=True, help="How often each cell is played.")
@click.option(
    "--client",
    "clients",
    multiple=True,
    metavar="NAME[@VERSION]",
    help="Who suffers; repeat it to compare.  [default: the mode's own]",
)
@click.option("--kafka", default="4.3.1", show_default=True, metavar="VERSION", help="Version of the brokers.")
@click.option("--variant", default="broken", show_default=True, metavar="NAME", help="What is played.")
@click.option(
    "--together",
    type=click.IntRange(1),
    default=6,
    show_default=True,
    help="So many cells share a run, where the programs are services: all are struck by the same fault.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Journal, tables and page.  [default: runs/sweep-MODE]",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Of the random order.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["console", "csv", "json"]),
    default="console",
    show_default=True,
    help="Of what is printed.",
)
def command(mode: str, **options: Any) -> int:  # noqa: ANN401 - click hands over what it has parsed
    """Play a mode's experiment over a grid of client settings, in random order, and say which of them decides.

    Each cell is judged by the lab's ledger: survived or not, healed after how long, lost, duplicated.
    """
    need("lab", "sweep")
    from leadsman.lab.sweep.grid import axis, cells, tries  # noqa: PLC0415 - the lab is loaded only now
    from leadsman.lab.sweep.play import Player  # noqa: PLC0415

    (chosen,) = modes_named([mode])
    experiment = chosen.scenario.EXPERIMENT
    axes = [axis(text) for text in options["settings"]]
    for each in axes:
        _known(each.name)
    wanted = cells([_full(name) for name in options["clients"] or (experiment.client,)], axes)
    out = options["out"] or Path("runs") / f"sweep-{mode}"
    journal = _journal(experiment, out, options)
    try:
        with steps() as say:
            player = Player(experiment=experiment, variant=options["variant"], kafka=options["kafka"], say=say)
            together = options["together"] if experiment.variant(player.variant).services else 1
            _play(player, tries(wanted, options["repeats"]), journal, together=together, seed=options["seed"])
    finally:
        _written(journal, axes, wanted, out=out, form=options["form"])
    return 0


def _known(setting: str) -> None:
    """Refuse a name that no client of any version has: a grid of a misspelt one changes nothing, whatever it says."""
    from difflib import get_close_matches  # noqa: PLC0415

    clients = [told for program, told in defaults.table().items() if program != "broker"]
    names = {name for told in clients for name in told["settings"]}
    if not {setting, setting.replace(".", "_")} & names:
        near = get_close_matches(setting, names) or ["default.api.timeout.ms"]
        raise UsageError(f"No client has a setting {setting}. Did you mean {' or '.join(near)}?")


def _full(client: str) -> str:
    """Return the client with its version: a journal is read again when another is the newest."""
    from leadsman.lab.clients import client as named  # noqa: PLC0415

    return named(client).label


def _journal(experiment: Experiment, out: Path, options: dict[str, Any]) -> Journal:
    from leadsman.lab.sweep.journal import FILE, About, Journal  # noqa: PLC0415

    experiment.variant(options["variant"])
    about = About(mode=experiment.mode, variant=options["variant"], kafka=options["kafka"])
    journal = Journal(out / FILE, about)
    journal.open()
    return journal


def _play(player: Player, wanted: Sequence[Try], journal: Journal, *, together: int, seed: int) -> None:
    from leadsman.lab.sweep.grid import batches  # noqa: PLC0415

    done = {entry.played for entry in journal.entries}
    left = batches(wanted, done=done, together=together, seed=seed)
    if done & set(wanted):
        player.say(f"{len(done & set(wanted))} of {len(wanted)} were played before")
    player.play(left, journal)


def _written(journal: Journal, axes: Sequence[Axis], cells: Sequence[Cell], *, out: Path, form: str) -> None:
    """Write what there is, also after a Ctrl-C: tables and page are of all that was played."""
    from leadsman.lab.sweep.conclusion import conclude  # noqa: PLC0415
    from leadsman.report import sweep, sweep_page  # noqa: PLC0415

    found = conclude(journal.entries, axes, cells)
    if not found.results:
        return
    told = json.dumps(sweep.as_json(found, journal.about), indent=2) + "\n"
    table = sweep.as_csv(found, axes)
    page = sweep_page.page(found, axes, about=journal.about, wanted=len(cells))
    files = {"sweep.json": told, "sweep.csv": table, "sweep.html": page, "sweep.md": sweep.as_markdown(found, axes)}
    for name, text in files.items():
        (out / name).write_text(text, encoding="utf-8")
    if form == "console":
        _show(found, axes, out)
    else:
        click.echo(told if form == "json" else table, nl=False)


def _show(found: Conclusion, axes: Sequence[Axis], out: Path) -> None:
    from leadsman.report.sweep import rows, sentences  # noqa: PLC0415

    table = rows(found, axes)
    widths = [max(map(len, column)) for column in zip(table[0], *(row.values() for row in table), strict=True)]
    for cells in (table[0], *(row.values() for row in table)):
        click.echo("  ".join(text.ljust(width) for text, width in zip(cells, widths, strict=True)).rstrip())
    click.echo("\n" + "\n".join(sentences(found)))
    click.echo(f"\nPage: {out / 'sweep.html'}")
