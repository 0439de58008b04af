"""Unrelated code, other names and other nesting change no finding. Samples are transformed by their syntax."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leadsman.catalogue import every_mode, every_rule
from leadsman.gate.check import check_file

RULES = every_rule()
SAMPLES = sorted(file for mode in every_mode() for file in (mode.folder / "samples").glob("*/*.py"))
UNRELATED = [
    "limit = 600",
    "names = ['a', 'b']",
    "def area(width, height=2):\n    return width * height",
    "class Shape:\n    sides = 4\n    def describe(self):\n        return {'sides': self.sides}",
    "for index in range(3):\n    print(index)",
    "try:\n    import json\nexcept ImportError:\n    json = None",
    "retries = 0",
    "settings = {'colour': 'green', 'size.px': 3}",
]


def rules_found(program: str) -> Counter[str]:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "program.py"
        file.write_text(program, encoding="utf-8")
        report = check_file(str(file), RULES)
    assert report.unreadable == []
    return Counter(each.rule for each in report.violations)


class Renamed(ast.NodeTransformer):
    """Renames what the program itself binds: variables, attributes of `self`, but no function and no parameter."""

    def __init__(self, tree: ast.AST) -> None:
        stores = [each for each in ast.walk(tree) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]
        self.names = {each.id for each in stores}
        own = [each for each in ast.walk(tree) if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store)]
        self.attributes = {each.attr for each in own if ast.unparse(each.value) == "self"}

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(f"renamed_{node.id}", node.ctx) if node.id in self.names else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        is_own = node.attr in self.attributes and ast.unparse(node.value) == "self"
        return ast.Attribute(node.value, f"renamed_{node.attr}", node.ctx) if is_own else node


def wrapped(program: str) -> str:
    """The program inside a function; its imports stay where they are."""
    tree = ast.parse(program)
    imports = [ast.unparse(each) for each in tree.body if isinstance(each, ast.Import | ast.ImportFrom)]
    others = [each for each in tree.body if not isinstance(each, ast.Import | ast.ImportFrom)]
    body = "\n".join(ast.unparse(each) for each in others)
    return "\n".join((*imports, "def surroundings():", *(f"    {line}" for line in body.splitlines())))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: f"{sample.parent.name}-{sample.name}")
@given(before=st.lists(st.sampled_from(UNRELATED), max_size=3), after=st.lists(st.sampled_from(UNRELATED), max_size=3))
@settings(max_examples=12, deadline=None, derandomize=True)
def test_unrelated_code_changes_nothing(sample: Path, before: list[str], after: list[str]) -> None:
    program = sample.read_text(encoding="utf-8")

    assert rules_found("\n".join((*before, program, *after))) == rules_found(program)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: f"{sample.parent.name}-{sample.name}")
def test_other_names_change_nothing(sample: Path) -> None:
    program = sample.read_text(encoding="utf-8")
    tree = ast.parse(program)

    renamed = ast.unparse(ast.fix_missing_locations(Renamed(tree).visit(tree)))

    assert rules_found(renamed) == rules_found(program)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: f"{sample.parent.name}-{sample.name}")
def test_formatting_changes_nothing(sample: Path) -> None:
    program = sample.read_text(encoding="utf-8")

    assert rules_found(ast.unparse(ast.parse(program))) == rules_found(program)


@pytest.mark.parametrize(
    "sample",
    [each for each in SAMPLES if each.parent.name != "handler_returns_before_flush"],  # a handler is no inner function
    ids=lambda sample: f"{sample.parent.name}-{sample.name}",
)
def test_a_function_around_the_program_changes_nothing(sample: Path) -> None:
    program = sample.read_text(encoding="utf-8")

    assert rules_found(wrapped(program)) == rules_found(program)
