"""TypeScript, by tree-sitter."""

from __future__ import annotations

from functools import partial

from leadsman.gate.code.ecmascript import translate
from leadsman.gate.reader import Reader

READER = Reader(
    language="typescript",
    suffixes=(".ts", ".mts", ".cts"),
    is_program=True,
    comment="//",
    read=partial(translate, grammar="language_typescript"),
)
