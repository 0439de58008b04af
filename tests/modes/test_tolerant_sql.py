"""No value of a capture can end a query: under Spark's ANSI mode an index, a cast or a division may raise an error."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import leadsman

SOURCE = Path(leadsman.__file__).parent
PROGRAMS = [
    pytest.param(path, id=path.relative_to(SOURCE).as_posix())
    for folder in ("modes", "pipeline")
    for path in sorted((SOURCE / folder).rglob("*.py"))
    if "recorded" not in path.parts and path.name != "remedy.py"
]
RAISING = {
    "get(array, index)": re.compile(r"\b[a-z_]+\[-?\d+\](?!\s*=\s)"),
    "try_element_at": re.compile(r"(?<!try_)\belement_at\("),
    "try_cast": re.compile(r"(?<!try_)\bcast\((?:\w+\.)?(?:labels\[|text\b)", re.IGNORECASE),
    "try_to_timestamp": re.compile(r"(?<!try_)\bto_timestamp\("),
    "nullif(divisor, 0)": re.compile(r"[\w)] / (?!nullif\(|\d|\{|coalesce\(nullif|partitions\b)[a-z(]"),
}
IS_SQL = re.compile(r"\b(?:SELECT|FROM|WHEN|THEN|IF\(|AS)\b|labels\[|\)\.|unix_|struct\(|get\(|\.v\b")


def sql_texts(path: Path) -> list[tuple[int, str]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documentation = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return [
        (node.lineno, text)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in documentation
        for text in [as_text(node)]
        if IS_SQL.search(text)
    ]


def as_text(node: ast.Constant | ast.JoinedStr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)


@pytest.mark.parametrize("path", PROGRAMS)
def test_every_index_cast_and_division_of_a_query_answers_null_instead_of_an_error(path: Path) -> None:
    found = [
        f"{line}: {match[0]!r}: write {replacement}"
        for line, text in sql_texts(path)
        for replacement, raising in RAISING.items()
        for match in raising.finditer(text)
    ]

    assert found == []


def test_the_check_finds_each_of_them() -> None:
    query = "SELECT points[0], element_at(a, -1), CAST(labels['x'] AS INT), to_timestamp(labels['y']), a / b FROM c"

    assert [name for name, raising in RAISING.items() if raising.search(query)] == list(RAISING)
