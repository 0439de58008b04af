"""Generates what the documents take from the code: `python docs/make.py [NAME...]`. Tests keep all of it up to date.

configuration  configuration.md: every setting, from the commands' options and the detectors' docstrings
vocabulary     vocabulary.md: every event with its value, unit and labels, from the declarations in `event_types/`
map            DESIGN.md, the file map: packages and modules with the first sentences of their docstrings
modes          README.md, the two tables of failure modes: from the cards
verdicts       README.md, glossary.md: what the three verdicts mean
hops           clients.md, the table of hops and their idle timeouts
alerts         prevention.md, the table of alerts and of the exporters that cover them
example        findings.md, the JSON example: a real diagnosis of a recorded capture (starts Spark)
picture        finding.svg: the same finding on a console (starts Spark)
"""  # noqa: INP001 - a script, no package

from __future__ import annotations

import ast
import inspect
import io
import json
import os
import re
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.catalogue import MODES, Mode, every_alert, every_mode, every_rule
from leadsman.cli.commands.config import CONFIGURED_COMMANDS, environment_variable
from leadsman.cli.group import group
from leadsman.cli.settings import settable
from leadsman.event_types import declaring_modules
from leadsman.prevent.alerts.coverage import coverage
from leadsman.prevent.alerts.exporter import CHOICES
from leadsman.report.text.findings import VERDICT_MEANING
from leadsman_clients.network_path import hop_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    import click

    from leadsman.model import Diagnosis

DOCS = Path(__file__).parent
ROOT = DOCS.parent
HEAD = DOCS / "configuration.head.md"
RECORDED = MODES / "idle_disconnect" / "recorded"
PICTURED = "broken-java-2.7.2"
COLUMNS = 112
VOCABULARY_HEAD = """# Vocabulary

Every event that leadsman reads out of telemetry. An event has a time, a subject, a file and a line, and the literal
text. What else an event carries depends on its name.

Generated from `src/leadsman/event_types/`: `python docs/make.py vocabulary`."""
SOURCE_FOLDERS = ("src/leadsman", "src/leadsman_clients", "reference/account_linking/src/account_linking")
SENTENCE = re.compile(r"(.+?\.)(?:\s|$)", re.DOTALL)
BEGIN, END = "<!-- generated: {} -->", "<!-- end of {} -->"
"""Around what is generated into a document that is otherwise written by hand."""


def configuration() -> str:
    """Return configuration.md: its head, which is written by hand, and the tables."""
    parts = [HEAD.read_text(encoding="utf-8").rstrip()]
    parts += ["\n".join(_settings(name)) for name in CONFIGURED_COMMANDS]
    parts += ["\n".join(_thresholds(mode)) for mode in every_mode()]
    return "\n\n".join(parts) + "\n"


def _settings(name: str) -> Iterator[str]:
    context = group.make_context("leadsman", [], resilient_parsing=True)
    command = group.get_command(context, name)
    assert command is not None
    yield f"## `leadsman {name}`\n"
    yield "| in the file | flag | environment | default | what it does |"
    yield "|---|---|---|---|---|"
    for setting, option in settable(command).items():
        flags = " / ".join(f"`{flag}`" for flag in (*option.opts, *option.secondary_opts))
        default = "" if option.multiple else _default(option)
        environment = environment_variable(name, setting)
        yield f"| `{setting}` | {flags} | `{environment}` | {default} | {_cell(option.help or '')} |"


def _default(option: click.Option) -> str:
    value = option.default
    if value is None or "UNSET" in repr(value).upper():
        return ""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else f"`{value}`"


def _thresholds(mode: Mode) -> Iterator[str]:
    yield f"## Thresholds of `{mode.name}`\n"
    yield "| `--set` | default | why |"
    yield "|---|---|---|"
    reasons = _reasons(inspect.getdoc(mode.detect) or "")
    for name, value in mode.parameters.items():
        yield f"| `{mode.name}.{name}` | {value:g} | {_cell(reasons.get(name, ''))} |"


def _reasons(docstring: str) -> dict[str, str]:
    """Return what a detector's docstring says of each parameter: `name: reason`, over one or more lines."""
    found = re.findall(r"^(\w+): (.*(?:\n(?!\w+: |\n).*)*)", docstring, flags=re.MULTILINE)
    return {name: " ".join(reason.split()) for name, reason in found}


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


@cache
def _recorded_diagnosis() -> Diagnosis:
    """Diagnose the recorded capture, once: Spark cannot be started twice in one process."""
    from leadsman.cli.commands.reproduce import diagnose_capture  # most documents need no Spark
    from leadsman.pipeline.spark.session import session

    os.chdir(RECORDED)  # so that picture and example name the capture as their reader would
    with session() as spark:
        return diagnose_capture(spark, Path(PICTURED))


def picture() -> str:
    """Return the console's answer to the recorded capture as SVG that needs no network."""
    from rich._export_format import CONSOLE_SVG_FORMAT  # the template has no public name
    from rich.console import Console  # only the picture needs what follows

    from leadsman.report.console.findings import show_diagnoses

    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, highlight=False)
    show_diagnoses([_recorded_diagnosis()], console)
    bare = re.sub(r"@font-face \{\{.*?\}\}\n", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    return console.export_svg(title=f"leadsman diagnose {PICTURED}", code_format=bare, unique_id="finding")


def vocabulary() -> str:
    """Return vocabulary.md: the events by the module that declares them."""
    return "\n\n".join([VOCABULARY_HEAD, *("\n".join(_event_table(module)) for module in declaring_modules())]) + "\n"


def _event_table(module: ModuleType) -> Iterator[str]:
    doc = inspect.getdoc(module) or ""
    yield f"## {doc.partition(chr(10))[0].rstrip('.')}\n"
    yield "| event | meaning | value | labels |"
    yield "|---|---|---|---|"
    for event in module.EVENTS:
        labels = [f"`{name}`" + (f": {_cell(meaning)}" if meaning else "") for name, meaning in event.labels.items()]
        labels += ["its own"] if event.open_labels else []
        value = f"{event.value} ({event.unit})" if event.unit else event.value
        meaning = f"{event.meaning} Text: {event.text}." if event.text else event.meaning
        yield f"| `{event.name}` | {_cell(meaning)} | {_cell(value)} | {'; '.join(labels)} |"


def file_map() -> str:
    """Return the file map: a table a package, with the first sentence of each module's docstring."""
    folders = [
        (ROOT / source, path.parent)
        for source in SOURCE_FOLDERS
        for path in sorted((ROOT / source).rglob("__init__.py"))
    ]
    return "\n\n".join("\n".join(_package(root, folder)) for root, folder in folders)


def _package(root: Path, folder: Path) -> Iterator[str]:
    yield f"**`{folder.relative_to(root.parent).as_posix()}/`** {_sentence(folder / '__init__.py')}\n"
    modules = [path for path in sorted(folder.glob("*.py")) if path.name != "__init__.py"]
    if modules:
        yield "| module | |"
        yield "|---|---|"
    for path in modules:
        yield f"| `{path.name}` | {_cell(_sentence(path))} |"


def _sentence(path: Path) -> str:
    """Return the first sentence of a module's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    first = SENTENCE.match(text)
    return " ".join((first[1] if first else text).split())


def mode_tables() -> str:
    """Return the README's tables: what each mode is, and what looks like it."""
    return "\n".join([*_modes(), "", *_alternatives()])


def verdict_meanings() -> str:
    """Return what each verdict means, by the sentences of the page."""
    meanings = ((verdict, meaning[0].lower() + meaning[1:]) for verdict, meaning in VERDICT_MEANING.items())
    return "\n".join(f"- **{verdict}**: {meaning}" for verdict, meaning in meanings)


def rule_table() -> str:
    """Return the gate's rules as a Markdown table."""
    rules = [(each.id, each.mode, _cell(each.rule.why), _cell(each.rule.fix)) for each in every_rule()]
    rows = [f"| `{name}` | `{mode}` | {why} | {fix} |" for name, mode, why, fix in rules]
    return "\n".join(("| rule | mode | why | fix |", "|---|---|---|---|", *rows))


def _modes() -> Iterator[str]:
    yield "| failure mode | what happens |"
    yield "|---|---|"
    for mode in every_mode():
        yield f"| `{mode.name}` | {_cell(mode.card.what_happens or mode.card.title)} |"


def _alternatives() -> Iterator[str]:
    yield "| looks like | but is | distinguished by |"
    yield "|---|---|---|"
    for mode in every_mode():
        listed = [each for each in mode.card.alternatives if each.distinguished_by]
        for number, each in enumerate(listed):
            name = "" if number else f"`{mode.name}`"
            yield f"| {name} | {_cell(each.cause)} | {_cell(each.distinguished_by)} |"


def example() -> str:
    """Return the JSON of a recorded capture's diagnosis, with one entry of each list."""
    from leadsman.report.json_documents.findings import findings_json  # only the example needs it

    document = json.loads(findings_json([_recorded_diagnosis()]))
    return f"```json\n{json.dumps(_shortened(document), indent=2)}\n```"


def _shortened(value: object, key: str = "") -> object:
    """Return a document with one entry of each list, but all links of the chain."""
    if isinstance(value, dict):
        return {name: _shortened(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_shortened(each) for each in (value if key in {"chain", "sources"} else value[:1])]
    return value


def alert_table() -> str:
    """Return the alerts, their severities and owners, and the exporters that cover each of them."""
    covered = {
        exporter: {each.alert.name for each in coverage([exporter], every_alert()).covered} for exporter in CHOICES
    }
    rows = ["| alert | mode | reports | severity | owner | covered by |", "|---|---|---|---|---|---|"]
    for mode, alert in ((each.mode, each.alert) for each in every_alert()):
        by = [str(exporter) for exporter in CHOICES if alert.name in covered[exporter]]
        where = "every choice" if len(by) == len(CHOICES) else ", ".join(by)
        named = f"`{mode}`" if mode else ""
        rows.append(f"| `{alert.name}` | {named} | {alert.meaning} | {alert.severity} | {alert.owner} | {where} |")
    return "\n".join(rows)


def between(name: str, text: str, document: str) -> str:
    """Return a document with the generated text between the two marks of its name."""
    begin, end = BEGIN.format(name), END.format(name)
    if document.count(begin) != 1 or document.count(end) != 1:
        raise SystemExit(f"No place for {name}: the document needs the lines {begin} and {end}, once each.")
    head, _, rest = document.partition(begin)
    _, _, tail = rest.partition(end)
    return f"{head}{begin}\n{text}\n{end}{tail}"


WHOLE = {"configuration": ("docs/configuration.md", configuration), "vocabulary": ("docs/vocabulary.md", vocabulary)}
PARTS = {
    "verdicts": ("README.md", verdict_meanings),
    "verdicts in the glossary": ("docs/glossary.md", verdict_meanings),
    "map": ("DESIGN.md", file_map),
    "modes": ("README.md", mode_tables),
    "hops": ("docs/clients.md", hop_table),
    "alerts": ("docs/prevention.md", alert_table),
    "rules": ("docs/gate.md", rule_table),
}
SPARK_PARTS = {"example": ("docs/findings.md", example)}
SPARK_WHOLE = {"picture": ("docs/finding.svg", picture)}


def main(names: list[str]) -> None:
    """Generate what is named; everything where nothing is."""
    for name in names or [*WHOLE, *PARTS, *SPARK_PARTS, *SPARK_WHOLE]:
        file, make = (WHOLE | PARTS | SPARK_PARTS | SPARK_WHOLE)[name]
        path = ROOT / file
        is_part = name in PARTS or name in SPARK_PARTS
        text = between(name, make(), path.read_text(encoding="utf-8")) if is_part else make()
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{file}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
