"""`leadsman sweep MODE`: measures which client setting decides whether a client survives a failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leadsman import kafka_defaults
from leadsman.catalogue import modes_named
from leadsman.cli.completion import mode_names
from leadsman.cli.extras import require_extra
from leadsman.cli.progress import steps
from leadsman.cli.terminal import echo
from leadsman.errors import UsageError
from leadsman.replacing import replaced_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leadsman.lab.run.experiment import Experiment
    from leadsman.lab.sweep.runner import SweepRunner
    from leadsman.sweep.conclusion import Conclusion
    from leadsman.sweep.grid import Axis, SweepCell, Trial
    from leadsman.sweep.journal import Journal

EPILOG = """\b
Examples:
  leadsman sweep leaderless_partition --set default.api.timeout.ms=5s,15s,60s --set retries=0,100
  leadsman sweep leaderless_partition --set default.api.timeout.ms=5s,60s --client java@2.7.2 --client java@4.3.1
  leadsman sweep idle_disconnect --set connections.max.idle.ms=1s,2s,4s --client java --repeats 3

\b
A second sweep with the same --out continues the first, also with more values or repeats.

\b
Exit codes: 0 complete; 2 could not run; 130 after Ctrl-C: the journal holds all measured cells.
"""


@click.command("sweep", epilog=EPILOG)
@click.argument("mode", shell_complete=mode_names)
@click.option(
    "--set",
    multiple=True,
    required=True,
    metavar="NAME=VALUE,...",
    help="A client setting, by the name of Kafka's Java documentation, and its values. Repeat it for a grid.",
)
@click.option("--repeats", type=click.IntRange(1), default=1, show_default=True, help="Runs of each cell.")
@click.option(
    "--client",
    multiple=True,
    metavar="NAME[@VERSION]",
    help="The client that fails; repeat it to compare clients.  [default: the mode's own]",
)
@click.option("--kafka", default="4.3.1", show_default=True, metavar="VERSION", help="Version of the brokers.")
@click.option("--variant", default="broken", show_default=True, metavar="NAME", help="The variant of the experiment.")
@click.option(
    "--together",
    type=click.IntRange(1),
    default=6,
    show_default=True,
    help="Cells that run at the same time, with the same fault; only in experiments whose programs are consumers.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for journal, tables and page.  [default: runs/sweep-MODE]",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the random order of cells.")
@click.option(
    "--format",
    type=click.Choice(["console", "csv", "json"]),
    default="console",
    show_default=True,
    help="Format of standard output.",
)
def command(mode: str, **options: Any) -> int:  # noqa: ANN401 - click hands over what it has parsed
    """Run a mode's experiment over a grid of client settings, in random order, and show which setting decides.

    The lab's ledger measures each cell: survived or not, recovery time, lost and duplicated records.
    """
    require_extra("lab", "sweep")
    from leadsman.lab.sweep.runner import SweepRunner
    from leadsman.sweep.grid import cells, parse_axis, trials  # the lab is loaded only now

    (failure_mode,) = modes_named([mode])
    experiment = failure_mode.scenario.EXPERIMENT
    axes = [parse_axis(text) for text in options["set"]]
    for each in axes:
        _check_setting(each.name)
    grid = cells([_versioned(name) for name in options["client"] or (experiment.client,)], axes)
    out = options["out"] or Path("runs") / f"sweep-{mode}"
    journal = _journal(experiment, out, options)
    try:
        with steps() as show_step:
            runner = SweepRunner(
                experiment=experiment, variant=options["variant"], kafka=options["kafka"], progress=show_step
            )
            together = options["together"] if experiment.variant(runner.variant).services.members else 1
            _run_cells(runner, trials(grid, options["repeats"]), journal, together=together, seed=options["seed"])
    finally:
        _write_results(journal, axes, grid, out=out, output_format=options["format"])
    return 0


def _check_setting(setting: str) -> None:
    """Raise UsageError for a setting that no client of any version has: its values could have no effect."""
    from difflib import get_close_matches

    clients = [table for program, table in kafka_defaults.default_table().items() if program != "broker"]
    names = {name for table in clients for name in table["settings"]}
    if not {setting, setting.replace(".", "_")} & names:
        near = get_close_matches(setting, names) or ["default.api.timeout.ms"]
        raise UsageError(f"No client has a setting {setting}. Did you mean {' or '.join(near)}?")


def _versioned(client: str) -> str:
    """Return the client with its version: a journal outlives the version that is the newest now."""
    from leadsman.lab.workload.clients import client as find_client

    return find_client(client).label


def _journal(experiment: Experiment, out: Path, options: dict[str, Any]) -> Journal:
    from leadsman.sweep.journal import FILE, Journal, SweepTarget

    experiment.variant(options["variant"])
    about = SweepTarget(mode=experiment.mode, variant=options["variant"], kafka=options["kafka"])
    journal = Journal(out / FILE, about)
    journal.open()
    return journal


def _run_cells(runner: SweepRunner, planned: Sequence[Trial], journal: Journal, *, together: int, seed: int) -> None:
    from leadsman.sweep.grid import batches

    done = {entry.trial for entry in journal.entries}
    remaining = batches(planned, done=done, together=together, seed=seed)
    if done & set(planned):
        runner.progress(f"{len(done & set(planned))} of {len(planned)} are in the journal already")
    runner.run_batches(remaining, journal)


def _write_results(
    journal: Journal, axes: Sequence[Axis], cells: Sequence[SweepCell], *, out: Path, output_format: str
) -> None:
    """Write tables and page of all measured cells, also after a Ctrl-C."""
    from leadsman.report.sweep import page, tables
    from leadsman.sweep.conclusion import conclude

    conclusion = conclude(journal.entries, axes, cells)
    if not conclusion.results:
        return
    document = json.dumps(tables.as_json(conclusion, journal.about), indent=2) + "\n"
    table = tables.as_csv(conclusion, axes)
    html = page.sweep_page(conclusion, axes, target=journal.about, total=len(cells))
    files = {
        "sweep.json": document,
        "sweep.csv": table,
        "sweep.html": html,
        "sweep.md": tables.as_markdown(conclusion, axes),
    }
    for name, text in files.items():
        with replaced_file(out / name) as file:
            file.write(text)
    if output_format == "console":
        _show(conclusion, axes, out)
    else:
        click.echo(document if output_format == "json" else table, nl=False)


def _show(conclusion: Conclusion, axes: Sequence[Axis], out: Path) -> None:
    from leadsman.report.sweep.tables import rows, sentences

    table = rows(conclusion, axes)
    widths = [max(map(len, column)) for column in zip(table[0], *(row.values() for row in table), strict=True)]
    for cells in (table[0], *(row.values() for row in table)):
        echo("  ".join(text.ljust(width) for text, width in zip(cells, widths, strict=True)).rstrip())
    echo("\n" + "\n".join(sentences(conclusion)))
    echo(f"\nPage: {out / 'sweep.html'}")
