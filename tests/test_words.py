"""The code and its texts use the field's own words: none of `banned_words.toml`, and a class's name names one class."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
BANNED = tomllib.loads((Path(__file__).parent / "banned_words.toml").read_text(encoding="utf-8"))
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
FOLDERS = ("src", "reference", "bench", "scripts", "tests", "docs")
PROGRAMS = [
    path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py")) if "recorded" not in path.parts
]
"""One test for all of them: with a test for each file and check, pytest took more time than the checks."""

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "src").rglob("page.md")])


ANY_PHRASE = re.compile("|".join(f"(?:{pattern})" for pattern in BANNED["texts"]), re.IGNORECASE)


def place(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT).as_posix()}:{line}"


@cache
def parsed(path: Path) -> ast.AST:
    return ast.parse(path.read_text(encoding="utf-8"))


def banned_phrases(text: str) -> Iterator[str]:
    """Every banned phrase of a text, with a better one."""
    if ANY_PHRASE.search(text):
        for pattern, better in BANNED["texts"].items():
            if match := re.search(pattern, text, re.IGNORECASE):
                yield f"{match[0]}: better: {better}"


def identifiers(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every name that a program gives: of functions, classes, parameters, variables, attributes and modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr


def classes(tree: ast.AST) -> Iterator[str]:
    """Every name that a program gives to a class, nested ones among them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.name


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every literal text of a program, docstrings among them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def test_no_identifier_is_made_of_a_banned_word() -> None:
    found = [
        f"{place(path, line)}: {name}: not {word} but {BANNED['identifiers'][word]}"
        for path in PROGRAMS
        for line, name in [(0, path.stem), *identifiers(parsed(path))]
        for word in map(str.lower, WORD.findall(name))
        if word in BANNED["identifiers"]
    ]

    assert found == []


def test_no_text_of_a_program_holds_a_banned_phrase() -> None:
    found = [
        f"{place(path, line)}: {phrase}"
        for path in PROGRAMS
        for line, text in texts(parsed(path))
        for phrase in banned_phrases(text)
    ]

    assert found == []


def test_no_document_holds_a_banned_phrase() -> None:
    texts_of_pages = {path: path.read_text(encoding="utf-8") for path in PAGES}

    assert [f"{path}: {phrase}" for path, text in texts_of_pages.items() for phrase in banned_phrases(text)] == []


def test_no_two_classes_share_a_name() -> None:
    """A reader who searches for a class finds one. Samples are left out: broken and healthy twins, by design."""
    folders = ("src", "reference/account_linking/src", "bench", "scripts")
    paths = [
        path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")) if "samples" not in path.parts
    ]

    places = defaultdict(set)
    for path in paths:
        for name in classes(parsed(path)):
            places[name.lstrip("_")].add(path.relative_to(ROOT).as_posix())

    assert {name: sorted(found) for name, found in places.items() if len(found) > 1} == {}


SILENCED = re.compile(r"#\s*(?:ruff:\s*)?noqa\b(?!: [A-Z]+\d+(?:, [A-Z]+\d+)* - \S.{2,})")


def test_every_silenced_check_names_its_code_and_its_reason() -> None:
    found = [
        f"{place(path, number)}: {line.strip()}"
        for path in PROGRAMS
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if SILENCED.search(line)
    ]

    assert found == []
