"""Masks secrets in text, before it is written or shown.

Only the secret is masked; the rest of the line stays as it is, and so does the number of lines.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman.redaction.commands import command_spans
from leadsman.redaction.disguises import undisguised
from leadsman.redaction.harmless import MASK
from leadsman.redaction.headers import header_spans
from leadsman.redaction.keys import key_spans
from leadsman.redaction.over_lines import kubernetes, open_secret, private_keys, spans_over_lines
from leadsman.redaction.over_lines.candidates import MARKS as OVER_LINES_MARKS
from leadsman.redaction.over_lines.candidates import candidate_offsets
from leadsman.redaction.prefilter import can_hold_secret, secret_candidates
from leadsman.redaction.token_forms import token_spans
from leadsman.redaction.urls import url_spans
from leadsman.redaction.values import Line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Span = tuple[int, int]

__all__ = [
    "MASK",
    "OVER_LINES_MARKS",
    "can_hold_secret",
    "candidate_offsets",
    "hidden_parts",
    "mask",
    "mask_all",
    "mask_line",
    "mask_over_lines",
    "mask_range",
    "mask_where_found",
    "open_secret",
    "secret_candidates",
]

MAX_PASSES = 8
"""Masking a value can show where another one ends. Two passes settle nearly every line."""

_JAAS = re.compile(
    r"sasl[._]jaas[._]config(?:\\*[\"'])?[ \t]*(?:=>|=|:)[ \t]*"
    r"(?!\\*[\"']?(?:null\b|none\b|\[hidden\]))(?P<value>\S.*)",
    re.IGNORECASE,
)
"""The value has many forms: to the line's end."""


def mask(text: str) -> str:
    """Return `text` with every secret masked that its key or its form shows. Masking twice changes nothing."""
    for _ in range(MAX_PASSES):
        masked = _once(text) if "\n" in text else _replaced(text, _spans(text))
        if masked == text:
            break
        text = masked
    return text


def mask_all(texts: Sequence[str]) -> list[str]:
    """Return the texts, each masked. All texts are searched for hints of secrets at once: few texts have one."""
    masked = list(texts)
    for index, text in mask_where_found(texts).items():
        masked[index] = text
    return masked


def mask_range(line: str, start: int, stop: int) -> str:
    """Return a part of a line, secrets masked: also one whose key stands outside of the part, or that the part cuts."""
    within = [(begin, end) for begin, end in _spans(line) if begin < stop and end > start]
    cut = [(max(begin, start) - start, min(end, stop) - start) for begin, end in within]
    return mask(_replaced(line[start:stop], cut))


def hidden_parts(line: str) -> list[str]:
    """Return the texts of a line that `mask` hides, so that they can be hidden where they stand without their keys."""
    return [line[start:end] for start, end in _merged(line, _spans(line)) if line[start:end] != MASK]


def mask_where_found(texts: Sequence[str]) -> dict[int, str]:
    """Return the texts that hold secrets, masked, by their index."""
    return {index: masked for index in secret_candidates(texts) if (masked := mask(texts[index])) != texts[index]}


def mask_over_lines(lines: Sequence[str], candidates: Sequence[int]) -> list[str]:
    """Return the lines, secrets masked whose keys stand on other lines; `candidates` are those that can begin one."""
    masked = list(lines)
    for index, spans in _by_line(spans_over_lines(lines, candidates)).items():
        masked[index] = _replaced(lines[index], spans)
    return masked


def mask_line(text: str) -> str:
    """Return one line, masked. Faster than `mask` where few of many lines hold a secret."""
    return mask(text) if can_hold_secret(text) else text


def _spans(line: str) -> list[Span]:
    """Return the places of the secrets of one line."""
    text, offsets = undisguised(line)
    spans = _spans_of(text)
    return spans if offsets is None else [(offsets[start], offsets[end]) for start, end in spans]


def _spans_of(line: str) -> list[Span]:
    lower = line.lower()
    parts = Line.of(line)
    spans = [*key_spans(parts, lower), *header_spans(parts, lower), *url_spans(line, lower)]
    spans += command_spans(line, lower)
    spans += token_spans(line, lower)
    if "jaas" in lower:
        spans += [match.span("value") for match in _JAAS.finditer(line)]
    if "private key" in lower:
        spans += private_keys.on_one_line(line)
    if "secret" in lower:
        spans += kubernetes.on_one_line(line)
    return spans


def _once(text: str) -> str:
    """Mask the lines that can hold a secret, and those below and above them."""
    lines = text.split("\n")
    candidates = sorted(secret_candidates(lines))
    found = _by_line(spans_over_lines(lines, candidates))
    for index in candidates:
        found.setdefault(index, []).extend(_spans(lines[index]))
    for index, spans in found.items():
        lines[index] = _replaced(lines[index], spans)
    return "\n".join(lines)


def _by_line(found: Iterable[tuple[int, Span]]) -> dict[int, list[Span]]:
    spans: dict[int, list[Span]] = {}
    for index, span in found:
        spans.setdefault(index, []).append(span)
    return spans


def _replaced(line: str, spans: Iterable[Span]) -> str:
    """Return the line with the places masked; places that touch are one."""
    pieces: list[str] = []
    offset = 0
    for start, end in _merged(line, spans):
        if line[start:end] != MASK:
            pieces += (line[offset:start], MASK)
            offset = end
    return "".join((*pieces, line[offset:])) if pieces else line


def _merged(line: str, spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(_whole_mask(line, *span) for span in spans if span[0] < span[1]):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _whole_mask(line: str, start: int, end: int) -> Span:
    """Return a place that cuts through no mask: one that begins or ends within a mask takes in all of it."""
    before = line.find(MASK, max(0, start - len(MASK) + 1), start + len(MASK) - 1)
    after = line.find(MASK, max(0, end - len(MASK) + 1), end + len(MASK) - 1)
    return (before if 0 <= before < start else start), (after + len(MASK) if 0 <= after < end else end)
