"""One client program as the gate sees it: parsed, never executed."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leadsman.model import Violation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    Rule = Callable[["Program"], Iterator[tuple[int, str]]]


@dataclass(frozen=True, slots=True)
class Setting:
    """One configured value and the line that sets it."""

    value: Any
    line: int


@dataclass(frozen=True, slots=True)
class Program:
    """The syntax tree of a Python program, and the settings in its dictionaries."""

    tree: ast.Module
    settings: Mapping[str, Setting]

    @classmethod
    def read(cls, path: Path) -> Program:
        """Parse the file. Raises SyntaxError where it is no Python."""
        tree = ast.parse(path.read_text(encoding="utf-8"))
        return cls(tree, dict(_settings(tree)))


def check(program: Program, rules: Mapping[str, Rule]) -> list[Violation]:
    """Return everything that the rules object to, in line order."""
    found = [Violation(name, line, text) for name, rule in rules.items() for line, text in rule(program)]
    return sorted(found, key=lambda violation: violation.line)


def _settings(tree: ast.Module) -> Iterator[tuple[str, Setting]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(value, ast.Constant):
                    yield str(key.value), Setting(value.value, value.lineno)
