"""Every shape of the corpus in secrets.toml: no part of a secret is left, and nothing else is lost."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadsman.redaction import can_hold_secret, mask, mask_all, mask_range, prefilter
from leadsman.redaction.commands import RULES
from leadsman.redaction.token_forms import FORMS

CORPUS = Path(__file__).parent / "secrets.toml"
NO_SECRET = re.compile(r"[^A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class Shape:
    """One shape with its secret in it. `words` are those around the secret that must stay."""

    group: str
    text: str
    parts: tuple[str, ...]
    words: tuple[str, ...]


def _shape(group: dict[str, Any], template: str) -> Shape:
    secret = "".join(group["secret"])
    parts = tuple(part for part in NO_SECRET.split(secret) if len(part) > 1 and part not in template)
    words = () if group.get("loses_words") else tuple(re.findall(r"[A-Za-z0-9]{3,}", template.replace("{s}", "\0")))
    return Shape(str(group["name"]), template.replace("{s}", secret), parts, words)


GROUPS = tomllib.loads(CORPUS.read_text(encoding="utf-8"))["group"]
SHAPES = [_shape(group, template) for group in GROUPS for template in group["texts"]]
HEALTHY = [text for group in GROUPS for text in group.get("healthy", ())]
TEXTS = [*(shape.text for shape in SHAPES), *HEALTHY]


def test_the_corpus_is_large() -> None:
    assert len(SHAPES) >= 300
    assert len({shape.text for shape in SHAPES}) == len(SHAPES)
    assert len(HEALTHY) >= 150


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape.group}: {shape.text[:60]!r}")
def test_no_part_of_a_planted_secret_is_left(shape: Shape) -> None:
    masked = mask(shape.text)

    assert [part for part in shape.parts if part in masked] == []
    assert [word for word in shape.words if word not in masked] == []


@pytest.mark.parametrize("text", HEALTHY, ids=lambda text: repr(text[:60]))
def test_a_healthy_text_stays_to_the_letter(text: str) -> None:
    assert mask(text) == text


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: repr(text[:60]))
def test_masking_twice_changes_nothing_and_keeps_the_lines(text: str) -> None:
    masked = mask(text)

    assert mask(masked) == masked
    assert masked.count("\n") == text.count("\n")


def test_a_secret_in_the_middle_of_a_log_is_masked_as_alone() -> None:
    around = "[2026-11-21 09:01:25,164] INFO Kafka version: 3.7.0 (x.Y)"
    joined = "\n".join(f"{around}\n{shape.text}" for shape in SHAPES)

    masked = mask(joined)

    others = "".join(template for group in GROUPS for template in group["texts"])
    parts = {part for shape in SHAPES for part in shape.parts if len(part) > 5 and part not in others}
    assert [part for part in parts if part in masked] == []
    assert masked.count(around) == len(SHAPES)


@pytest.mark.parametrize("worth", [0, 1 << 40], ids=["with Hyperscan", "without"])
def test_the_search_in_many_texts_misses_none(worth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefilter, "HYPERSCAN_MIN_CHARACTERS", worth)
    single = [text for text in TEXTS if "\n" not in text]

    assert mask_all(TEXTS) == [mask(text) for text in TEXTS]
    assert [text for text in single if mask(text) != text and not can_hold_secret(text)] == []


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape.group}: {shape.text[:60]!r}")
def test_a_part_of_a_line_shows_no_secret_whose_key_lies_outside(shape: Shape) -> None:
    if "\n" in shape.text or "." * 9 in shape.text:
        return
    shown = "".join(mask_range(shape.text, at, at + 7) + "\n" for at in range(0, len(shape.text), 7))

    assert [part for part in shape.parts if len(part) <= 7 and part in shown] == []


PIECES = st.sampled_from(
    [*TEXTS, *(word for text in TEXTS for word in text.split(" ")), " ", "\n", '"', "'", "\\", "=", "]"]
)


@given(st.lists(PIECES, max_size=8).map("".join))
def test_any_mixture_of_shapes_is_masked_once_and_for_all(text: str) -> None:
    masked = mask(text)

    assert mask(masked) == masked
    assert masked.count("\n") == text.count("\n")


@given(st.lists(PIECES, max_size=5).map("".join))
def test_any_mixture_that_is_masked_is_a_candidate(text: str) -> None:
    lines = text.split("\n")

    assert [line for line in lines if mask(line) != line and not can_hold_secret(line)] == []


def test_every_hint_of_a_rule_is_searched_for() -> None:
    assert {hint for form in FORMS for hint in form.hints.split("|")} | {rule.hint for rule in RULES} <= set(
        prefilter.HINTS
    )
    assert [hint for hint in prefilter.HINTS if hint != hint.lower()] == []
