"""Every engine finds the same signatures on the same lines."""

from pathlib import Path

import pytest

from leadsman.catalogue import Mode
from leadsman.pipeline.read.scanner import ENGINES
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
