"""Tells what a failure mode is: its page in Markdown, with the card's facts and a real log excerpt filled in.

The page writes `{{ name }}` on a line of its own or within one; the names are those of `parts`. A fact of the card is
so written once. This needs no template engine: explanations belong to the light installation.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markdown import Markdown, TableElement
from rich.table import Table

from leadsman import defaults
from leadsman.errors import TemplateError
from leadsman.report.visible import encodable, visible
from leadsman.words import duration

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
    "What this page does not cover",
)
"""The sections of every mode's page, in this order."""

PLACEHOLDER = re.compile(r"\{\{ *(\w+) *\}\}")


class WholeTable(TableElement):
    """A table that breaks a long word where it must: Rich would cut it, and half a command is none."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Any]:
        for part in super().__rich_console__(console, options):
            for column in part.columns if isinstance(part, Table) else ():
                column.overflow = "fold"
            yield part


class Page(Markdown):
    """A page for the terminal."""

    elements: ClassVar[dict[str, Any]] = {**Markdown.elements, "table_open": WholeTable}


def explain(card: FailureMode, page_text: str, excerpt: str, console: Console | None = None) -> None:
    """Print the page of a mode. The default console is standard output."""
    filled = explanation(card, page_text, excerpt)
    screen = console or Console(highlight=False)
    screen.print(Page(encodable(filled, screen.encoding), hyperlinks=False, code_theme="ansi_dark"))


def explanation(card: FailureMode, page_text: str, excerpt: str) -> str:
    """Fill the page of a mode and return it as Markdown. An unknown placeholder raises TemplateError."""
    known = parts(card, excerpt)
    return PLACEHOLDER.sub(lambda match: _part(match[1], known), page_text)


def parts(card: FailureMode, excerpt: str) -> Mapping[str, str]:
    """Write what a page may ask for, each as Markdown."""
    return {
        "title": card.title,
        "harm": ", ".join(card.harm),
        "story": _numbered_lines(card.story),
        "chain": _numbered_lines(link.claim for link in card.chain),
        "rivals": "\n".join(f"- {rival.cause}" for rival in card.rivals),
        "benign": "\n".join(f"- {line.name}: {line.why}" for line in card.benign),
        "cure": "\n\n".join(_cure(number, cure) for number, cure in enumerate(card.cure, start=1)),
        "defaults": _defaults(card.settings),
        "excerpt": fenced(excerpt),
    }


def sections(page_text: str) -> tuple[str, ...]:
    """List the headings of a page's sections, outside of code."""
    outside = re.sub(r"^(`{3,}).*?^\1`*$", "", page_text, flags=re.MULTILINE | re.DOTALL)
    return tuple(re.findall(r"^## +(.+?) *$", outside, flags=re.MULTILINE))


def fenced(text: str, indent: str = "") -> str:
    """Quote text as a block that it cannot end by itself: the fence is longer than any run of ticks in it."""
    shown = visible(text.strip("\n"), keep="\t\n")
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", shown)), default=0))
    return "\n".join(indent + line for line in (f"{fence}text", *shown.split("\n"), fence))


def _part(name: str, known: Mapping[str, str]) -> str:
    if name not in known:
        raise TemplateError(
            f"The page asks for {{{{ {name} }}}}, which no card has. It may ask for: {', '.join(known)}. "
            "Mend the name in the mode's page.md."
        )
    return known[name]


def _numbered_lines(lines: Iterable[str]) -> str:
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))


def _defaults(settings: Iterable[tuple[str, str]]) -> str:
    """Write what programs do unless they are told otherwise, by version, as a table."""
    rows = [f"| {program} | `{setting}` | {_by_version(program, setting)} |" for program, setting in settings]
    return "\n".join(("| of | setting | default |", "|---|---|---|", *rows))


def _by_version(program: str, setting: str) -> str:
    """Write the changes, the newest first: `18 s since 2.5, before 6 s`."""
    oldest = defaults.table()[program]["versions"][0]
    said = []
    for version, *value in defaults.changes(program, setting):
        since = "" if version == oldest else f" since {defaults.release(str(version))}"
        said.append((_value(setting, value[0]) if value else "gone") + since)
    return ", before ".join(reversed(said))


def _value(setting: str, value: str | None) -> str:
    if value is None:
        return "none"
    is_time = setting.endswith((".ms", "_ms")) and value.isdigit()
    return duration(int(value) / 1000) if is_time else value


def _cure(number: int, cure: Cure) -> str:
    settings = "\n\n" + fenced(cure.settings, indent="   ") if cure.settings else ""
    return f"{number}. **{cure.title}.** {cure.why}{settings}"
