"""Finds secrets that go on over several lines: also behind the prefix of a log that repeats, and in JSON strings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.redaction.keys import key_at_end, name_slot, word_start
from leadsman.redaction.over_lines import kubernetes, private_keys
from leadsman.redaction.over_lines.blocks import block_spans, continued_key
from leadsman.redaction.over_lines.line_prefixes import (
    OwnText,
    is_json_string,
    json_texts,
    texts_behind_prefixes,
    without_logger,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Span = tuple[int, int]
MAX_LINES_ABOVE = 200
"""Lines above the end of a private key, or the kind of an object, on which its secrets stand."""

Found = tuple[list[tuple[int, Span]], set[int]]
"""Places in lines, and the lines with marks of private keys that need not be looked at again."""

MAX_LINES_BELOW = 400
"""Lines below the beginning of a secret on which it can go on, those of other writers too."""


def spans_over_lines(lines: Sequence[str], candidates: Sequence[int]) -> Iterator[tuple[int, Span]]:
    """Yield the index and the place of each part of a secret that goes on over several lines.

    `candidates` are indexes of lines, in their order: of all lines that can begin such a secret, or end it.
    """
    found, masked_marks = _in_json(lines, candidates)
    yield from found
    yield from _plain(lines, [index for index in candidates if index not in masked_marks])[0]


def open_secret(lines: Sequence[str], candidates: Sequence[int]) -> int | None:
    """Return the first line whose secret can go on below all lines; None where none can."""
    near = [index for index in candidates if index >= len(lines) - MAX_LINES_BELOW]
    return next((index for index in near if _begins(lines[index])), None)


def _begins(line: str) -> bool:
    return _trigger(line) is not None or any(_trigger(each.text) is not None for each in json_texts([line], 0, (0,)))


def _plain(lines: Sequence[str], candidates: Sequence[int]) -> Found:
    """Return the secrets behind prefixes, and in lines as they stand."""
    found, masked_marks = _behind_heads(lines, _triggers(lines, candidates))
    left = [index for index in candidates if index not in masked_marks]
    keys = list(private_keys.over_lines(lines, left))
    masked_marks |= {index for index in left if keys and private_keys.mark_at(lines[index]) is not None}
    return [*found, *keys, *_values(lines, candidates)], masked_marks


def _values(lines: Sequence[str], candidates: Sequence[int]) -> Iterator[tuple[int, Span]]:
    yield from block_spans(lines, candidates)
    yield from kubernetes.over_lines(lines, candidates)


def _triggers(lines: Sequence[str], candidates: Sequence[int]) -> dict[int, int]:
    """Return by the index of each line that begins a secret, or ends one, where that begins."""
    offsets = ((index, _trigger(without_logger(lines[index]))) for index in candidates)
    return {index: offset for index, offset in offsets if offset is not None}


def _trigger(line: str) -> int | None:
    offsets = [private_keys.mark_at(line), kubernetes.kind_at(line)]
    if key := key_at_end(line) or continued_key(line):
        offsets.append(word_start(line, key.start()))
    if name := name_slot(line):
        offsets.append(name.start())
    return min((offset for offset in offsets if offset is not None), default=None)


def _behind_heads(lines: Sequence[str], triggers: dict[int, int]) -> Found:
    found: list[tuple[int, Span]] = []
    masked_marks: set[int] = set()
    for texts in texts_behind_prefixes(lines, triggers):
        own = [text.text for text in texts]
        candidates = [index for index, text in enumerate(texts) if text.line in triggers]
        left = [index for index in candidates if texts[index].line not in masked_marks]
        keys = list(private_keys.over_lines(own, left))
        masked_marks |= {texts[index].line for index in left if keys and private_keys.mark_at(own[index]) is not None}
        found += _mapped(texts, [*keys, *_values(own, candidates)])
    return found, masked_marks


def _in_json(lines: Sequence[str], candidates: Sequence[int]) -> Found:
    found: list[tuple[int, Span]] = []
    masked_marks: set[int] = set()
    done = -1
    following = set(candidates)
    for index in candidates:
        if index > done and is_json_string(lines[index]):
            texts = json_texts(lines, max(done + 1, index - MAX_LINES_ABOVE), candidates)
            done = max(index, texts[-1].line) if texts else index
            own = [text.text for text in texts]
            spans, within = _plain(own, [index for index, text in enumerate(texts) if text.line in following])
            found += _mapped(texts, spans)
            masked_marks |= {texts[index].line for index in within}
    return found, masked_marks


def _mapped(texts: Sequence[OwnText], spans: Iterable[tuple[int, Span]]) -> Iterator[tuple[int, Span]]:
    for index, span in spans:
        yield texts[index].line, texts[index].span(span)
