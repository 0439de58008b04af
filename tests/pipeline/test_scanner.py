"""Every engine finds the same signatures on the same lines."""

from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import pytest

from leadsman.catalogue import Mode
from leadsman.pipeline.read.scanner import ENGINES, scan_with_marks, scanner
from leadsman.redaction import OVER_LINES_MARKS, candidate_offsets
from leadsman.telemetry.source import all_signatures

PATTERNS = [signature.pattern for _, signature, _ in all_signatures()]
LOGS = sorted((Mode("idle_disconnect").folder / "recorded").rglob("*.log"))[::4]


def found(engine: str, block: bytes) -> set[tuple[int, int]]:
    """(line, signature) of all that an engine finds."""
    hits = ENGINES[engine](PATTERNS)(block)
    return {(block.count(b"\n", 0, end - 1), index) for end, index in hits}


@pytest.mark.parametrize("log", LOGS, ids=lambda path: f"{path.parent.parent.name}-{path.stem}")
@pytest.mark.parametrize("engine", ["re2", "re"])
def test_without_hyperscan_the_same_is_found(engine: str, log: Path):
    block = log.read_bytes()[:300_000]

    assert found(engine, block) == found("hyperscan", block)


@pytest.mark.parametrize("engine", ENGINES)
def test_bytes_that_are_no_text_are_no_trouble(engine: str):
    assert found(engine, bytes(range(256)) * 50) == set()


@pytest.mark.parametrize("log", LOGS, ids=lambda path: f"{path.parent.parent.name}-{path.stem}")
@pytest.mark.parametrize("case", [str.lower, str.upper])
def test_one_pass_finds_the_signatures_and_the_marks_of_secrets(log: Path, case: Callable[[str], str]):
    lines = log.read_bytes()[:100_000].splitlines(keepends=True)
    texts = [f"token{case(mark)}".encode() for mark in OVER_LINES_MARKS]
    block = b"".join(line + text for line, text in zip(cycle(lines), texts, strict=False)) + b"".join(lines)

    hits, marks = scan_with_marks()(block)

    assert sorted(hits) == sorted(scanner()[1](block))
    assert {number for _, number in marks or ()} == set(range(len(OVER_LINES_MARKS)))
    assert candidate_offsets(block, marks) == candidate_offsets(block)
