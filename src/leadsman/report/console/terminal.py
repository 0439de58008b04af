"""All output to a terminal goes through `Terminal`, which escapes what a terminal would act on or cannot show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.padding import Padding
from rich.rule import Rule
from rich.style import Style
from rich.table import Table
from rich.text import Text

from leadsman.report.text.escaping import escape_control_characters, escape_unencodable
from leadsman.words import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

StyledText = str | tuple[str, str]
"""A piece of text, alone or with a style of rich."""


@dataclass(frozen=True, slots=True)
class Symbols:
    """The symbols of the output."""

    yes: str
    no: str
    unclear: str
    times: str
    bar: str
    dot: str
    ellipsis: str
    rule: str


UNICODE = Symbols(yes="✔", no="✘", unclear="?", times="×", bar="│", dot="·", ellipsis="…", rule="─")  # noqa: RUF001 - a times sign
ASCII = Symbols(yes="+", no="x", unclear="?", times="x", bar="|", dot="-", ellipsis="...", rule="-")


@dataclass(frozen=True, slots=True)
class Terminal:
    """A console that shows text as it is: no markup, no emoji names, no control characters."""

    console: Console

    @property
    def symbols(self) -> Symbols:
        """The symbols in this terminal's encoding."""
        return ASCII if self.console.options.ascii_only else UNICODE

    def safe(self, text: str) -> str:
        """Escape text for this terminal and its encoding."""
        return escape_unencodable(escape_control_characters(text, keep="\t"), self.console.encoding)

    def text(self, *parts: StyledText) -> Text:
        """Return the parts as one text of rich."""
        pairs = [(part, "") if isinstance(part, str) else part for part in parts]
        return Text.assemble(*((self.safe(piece), Style.parse(style)) for piece, style in pairs))

    def blank(self) -> None:
        """Print an empty line."""
        self.console.print()

    def rule(self) -> None:
        """Print a rule across the terminal."""
        self.console.print(Rule(characters=self.symbols.rule, style="dim"))

    def paragraph(self, *parts: StyledText, indent: int = 0) -> None:
        """Print prose, wrapped to the width and indented."""
        self.console.print(Padding(self.text(*parts), (0, 0, 0, indent), expand=False), highlight=False)

    def item(self, mark: StyledText, *parts: StyledText, indent: int = 0) -> None:
        """Print a mark and prose beside it."""
        row = Table.grid(padding=(0, 1))
        row.add_column(no_wrap=True, overflow="crop")
        row.add_column()
        row.add_row(self.text(mark), self.text(*parts))
        self.console.print(Padding(row, (0, 0, 0, indent), expand=False), highlight=False)

    def grid(self, head: Sequence[str], rows: Sequence[Sequence[StyledText]], *, indent: int) -> None:
        """Print a table that `grid_fits`: cells are wrapped between words, and no word is cut."""
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
        for name, width in zip(head, self._word_widths(head, rows), strict=True):
            table.add_column(self.text(name), overflow="fold", min_width=width)
        for row in rows:
            table.add_row(*map(self.text, row))
        self.console.print(Padding(table, (0, 0, 0, indent), expand=False), highlight=False)

    def grid_fits(self, head: Sequence[str], rows: Sequence[Sequence[StyledText]], *, indent: int) -> bool:
        """Whether the terminal has room for the longest word of each column."""
        return sum(width + 2 for width in self._word_widths(head, rows)) - 2 + indent <= self.console.width

    def _word_widths(self, head: Sequence[str], rows: Sequence[Sequence[StyledText]]) -> list[int]:
        texts = [[self.text(part).plain for part in row] for row in (head, *rows)]
        return [
            max(cell_len(word) for text in column for word in (text.split() or [""]))
            for column in zip(*texts, strict=True)
        ]

    def verbatim(self, line: str, *, indent: int, style: str = "") -> None:
        """Print one line to copy: never wrapped, never cut."""
        self.console.print(self.text(" " * indent, (line, style)), soft_wrap=True, highlight=False)

    def omitted(self, number: int, nouns: str) -> None:
        """Print how many things are left out, if any: `nouns` is "more row|more rows"."""
        if number > 0:
            self.paragraph((f"{self.symbols.ellipsis} {count(number, nouns)}", "dim"), indent=7)

    def quote(self, line: str, *, indent: int, rows: int) -> None:
        """Print one line of the input on at most `rows` rows, then an ellipsis. A pipe gets the whole line."""
        line_text = self.safe(line)
        if not self.console.is_terminal:
            self._quoted(line_text, indent)
            return
        room = max(self.console.width - indent - 2, 8)
        cut = chop_cells(line_text, room)
        for row in cut[: rows - 1]:
            self._quoted(row, indent)
        if remainder := "".join(cut[rows - 1 :]):
            self._quoted(self._cut(remainder, room), indent)

    def location_and_quote(self, location: str, line: str, *, indent: int) -> None:
        """Print a location and one line of the input after it, cut to the terminal's width."""
        line_text = self.safe(line).strip()
        if self.console.is_terminal:
            room = max(self.console.width - indent - cell_len(self.safe(location)) - 3, 8)
            line_text = self._cut(line_text, room)
        parts = (" " * indent, (location, "cyan"), " ", (self.symbols.bar, "dim"), " ", line_text)
        self.console.print(self.text(*parts), soft_wrap=True, highlight=False)

    def _cut(self, line_text: str, room: int) -> str:
        if cell_len(line_text) <= room:
            return line_text
        return set_cell_size(line_text, room - len(self.symbols.ellipsis)).rstrip() + self.symbols.ellipsis

    def _quoted(self, row: str, indent: int) -> None:
        self.console.print(
            self.text(" " * indent, (self.symbols.bar, "dim"), " ", row), soft_wrap=True, highlight=False
        )
