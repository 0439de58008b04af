"""Renders the page of a failure mode: Markdown with the card's facts and a log excerpt filled in.

The page writes `{{ name }}` for a fact; `page_facts` has the names, so that a fact of the card is written once.
No template engine is needed: `explain` belongs to the light installation.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markdown import Markdown, TableElement
from rich.table import Table

from leadsman import kafka_defaults
from leadsman.errors import TemplateError
from leadsman.model import HARM_TEXTS
from leadsman.report.text.escaping import escape_control_characters, escape_unencodable
from leadsman.words import duration
from leadsman_clients.network_path import hop_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any, ClassVar

    from rich.console import ConsoleOptions

    from leadsman.model import Cure, FailureMode

SECTIONS = (
    "What you see",
    "Why it happens",
    "How to be sure",
    "How to cure it",
    "The incident",
    "What this page does not cover",
)
"""The sections of every mode's page, in this order."""

PLACEHOLDER = re.compile(r"\{\{ *(\w+) *\}\}")


class WrappingTable(TableElement):
    """A table that folds a long word: Rich would cut it, and half a command is useless."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Any]:
        for part in super().__rich_console__(console, options):
            for column in part.columns if isinstance(part, Table) else ():
                column.overflow = "fold"
            yield part


class MarkdownPage(Markdown):
    """A page for the terminal."""

    elements: ClassVar[dict[str, Any]] = {**Markdown.elements, "table_open": WrappingTable}


def explain(card: FailureMode, page_text: str, excerpt: str, console: Console | None = None) -> None:
    """Print the page of a mode. The default console is standard output."""
    filled = filled_page(card, page_text, excerpt)
    screen = console or Console(highlight=False)
    screen.print(MarkdownPage(escape_unencodable(filled, screen.encoding), hyperlinks=False, code_theme="ansi_dark"))


def filled_page(card: FailureMode, page_text: str, excerpt: str) -> str:
    """Fill the page of a mode and return it as Markdown. An unknown placeholder raises TemplateError."""
    known = page_facts(card, excerpt)
    return PLACEHOLDER.sub(lambda match: _fact(match[1], known), page_text)


def page_facts(card: FailureMode, excerpt: str) -> Mapping[str, str]:
    """Return the facts for the placeholders of a page, each as Markdown."""
    return {
        "title": card.title,
        "harm": ", ".join(HARM_TEXTS[harm] for harm in card.harm),
        "story": _numbered_lines(card.story),
        "chain": _numbered_lines(link.claim for link in card.chain),
        "alternatives": "\n".join(f"- {each.cause}" for each in card.alternatives),
        "benign": "\n".join(f"- {line.name}: {line.why}" for line in card.benign),
        "cure": "\n\n".join(_cure(number, cure) for number, cure in enumerate(card.cure, start=1)),
        "defaults": _defaults(card.settings),
        "hops": hop_table(),
        "excerpt": fenced(excerpt),
    }


def sections(page_text: str) -> tuple[str, ...]:
    """Return the headings of a page's sections, outside of code blocks."""
    outside = re.sub(r"^(`{3,}).*?^\1`*$", "", page_text, flags=re.MULTILINE | re.DOTALL)
    return tuple(re.findall(r"^## +(.+?) *$", outside, flags=re.MULTILINE))


def fenced(text: str, indent: str = "") -> str:
    """Return text as a code block. The fence is longer than any run of backticks in the text."""
    escaped = escape_control_characters(text.strip("\n"), keep="\t\n")
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", escaped)), default=0))
    return "\n".join(indent + line for line in (f"{fence}text", *escaped.split("\n"), fence))


def _fact(name: str, known: Mapping[str, str]) -> str:
    if name not in known:
        raise TemplateError(
            f"The page contains {{{{ {name} }}}}, which is no fact of a card. Facts: {', '.join(known)}. "
            "Correct the name in the mode's page.md."
        )
    return known[name]


def _numbered_lines(lines: Iterable[str]) -> str:
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))


def _defaults(settings: Iterable[tuple[str, str]]) -> str:
    """Return a table of default settings by version."""
    rows = [f"| {program} | `{setting}` | {_default_by_version(program, setting)} |" for program, setting in settings]
    return "\n".join(("| program | setting | default |", "|---|---|---|", *rows))


def _default_by_version(program: str, setting: str) -> str:
    """Return the defaults, the newest first: `18 s since 2.5; 6 s before 2.5`, `removed in 4.0; 0 before 4.0`."""
    oldest = kafka_defaults.default_table()[program]["versions"][0]
    texts, until = [], ""
    for version, *value in reversed(list(kafka_defaults.default_history(program, setting))):
        release = "" if version == oldest else kafka_defaults.release(str(version))
        ends = f" before {until}" if until else ""
        since = f" since {release}" if release else ends
        texts.append(f"{_value_text(setting, value[0])}{since}" if value else f"removed in {release}")
        until = release
    return "; ".join(texts)


def _value_text(setting: str, value: str | None) -> str:
    if value is None:
        return "none"
    is_time = setting.endswith((".ms", "_ms")) and value.isdigit()
    return duration(int(value) / 1000) if is_time else value


def _cure(number: int, cure: Cure) -> str:
    settings = "\n\n" + fenced(cure.settings, indent="   ") if cure.settings else ""
    return f"{number}. **{cure.title}.** {cure.why}{settings}"
