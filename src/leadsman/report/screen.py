"""The one way to the terminal. Nothing gets past it that a terminal would obey or cannot show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.padding import Padding
from rich.rule import Rule
from rich.style import Style
from rich.table import Table
from rich.text import Text

from leadsman.report.visible import encodable, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

Part = str | tuple[str, str]
"""A piece of text, alone or with a style of rich."""


@dataclass(frozen=True, slots=True)
class Marks:
    """The symbols of a screen."""

    yes: str
    no: str
    unclear: str
    times: str
    bar: str
    dot: str
    ellipsis: str
    rule: str


UNICODE = Marks(yes="✔", no="✘", unclear="?", times="×", bar="│", dot="·", ellipsis="…", rule="─")  # noqa: RUF001 - a times sign
ASCII = Marks(yes="+", no="x", unclear="?", times="x", bar="|", dot="-", ellipsis="...", rule="-")


@dataclass(frozen=True, slots=True)
class Screen:
    """A console that shows text and never obeys it: no markup, no emoji names, no control characters."""

    console: Console

    @property
    def marks(self) -> Marks:
        """The symbols that this terminal's encoding has."""
        return ASCII if self.console.options.ascii_only else UNICODE

    def safe(self, text: str) -> str:
        """Make text safe for this terminal and its encoding."""
        return encodable(visible(text, keep="\t"), self.console.encoding)

    def text(self, *parts: Part) -> Text:
        """Join parts into one text of rich."""
        pairs = [(part, "") if isinstance(part, str) else part for part in parts]
        return Text.assemble(*((self.safe(piece), Style.parse(style)) for piece, style in pairs))

    def blank(self) -> None:
        """Leave a line empty."""
        self.console.print()

    def rule(self) -> None:
        """Draw a line across."""
        self.console.print(Rule(characters=self.marks.rule, style="dim"))

    def say(self, *parts: Part, indent: int = 0) -> None:
        """Print prose, wrapped to the width and hanging at its indent."""
        self.console.print(Padding(self.text(*parts), (0, 0, 0, indent), expand=False), highlight=False)

    def item(self, mark: Part, *parts: Part, indent: int = 0) -> None:
        """Print a mark and prose that hangs beside it."""
        row = Table.grid(padding=(0, 1))
        row.add_column(no_wrap=True, overflow="crop")
        row.add_column()
        row.add_row(self.text(mark), self.text(*parts))
        self.console.print(Padding(row, (0, 0, 0, indent), expand=False), highlight=False)

    def grid(self, head: Sequence[Part], rows: Sequence[Sequence[Part]], *, indent: int) -> None:
        """Print cells below heads; what does not fit into the width is folded."""
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for name in head:
            table.add_column(self.text(name), overflow="fold")
        for row in rows:
            table.add_row(*map(self.text, row))
        self.console.print(Padding(table, (0, 0, 0, indent), expand=False), highlight=False)

    def verbatim(self, line: str, *, indent: int, style: str = "") -> None:
        """Print one line that somebody will copy: never wrapped, never cut."""
        self.console.print(self.text(" " * indent, (line, style)), soft_wrap=True, highlight=False)

    def quote(self, line: str, *, indent: int, rows: int) -> None:
        """Print one line of the input on at most so many rows, then an ellipsis. A pipe gets the whole line."""
        shown = self.safe(line)
        if not self.console.is_terminal:
            self._quoted(shown, indent)
            return
        room = max(self.console.width - indent - 2, 8)
        cut = chop_cells(shown, room)
        for row in cut[: rows - 1]:
            self._quoted(row, indent)
        if rest := "".join(cut[rows - 1 :]):
            self._quoted(self._cut(rest, room), indent)

    def place_and_quote(self, place: str, line: str, *, indent: int) -> None:
        """Print a place and one line of the input behind it, cut to what the terminal has room for."""
        shown = self.safe(line).strip()
        if self.console.is_terminal:
            room = max(self.console.width - indent - cell_len(self.safe(place)) - 3, 8)
            shown = self._cut(shown, room)
        parts = (" " * indent, (place, "cyan"), " ", (self.marks.bar, "dim"), " ", shown)
        self.console.print(self.text(*parts), soft_wrap=True, highlight=False)

    def _cut(self, shown: str, room: int) -> str:
        if cell_len(shown) <= room:
            return shown
        return set_cell_size(shown, room - len(self.marks.ellipsis)).rstrip() + self.marks.ellipsis

    def _quoted(self, row: str, indent: int) -> None:
        self.console.print(self.text(" " * indent, (self.marks.bar, "dim"), " ", row), soft_wrap=True, highlight=False)
