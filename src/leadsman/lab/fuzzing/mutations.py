"""Damage as files suffer it: cut, spliced, flipped bits, changed words, extreme numbers, compressed, wrapped."""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING

import zstandard

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

INPUT_BYTES = (1_000, 1_000, 8_000, 60_000)
"""An input is cut to one of these. Every format shows itself at its beginning, and short inputs are read faster."""

EXTREMES = (
    *(b"", b"-", b"0", b"-1", b"9" * 40, b"1e999", b"-1e308", b"NaN", b"Infinity", b"null", b"true", b"[]", b"{}"),
    *(b'"', b"'", b"\\", b"\\u0000", b"\\ud800", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r\n", b"\n\n", b"\x1b[2J"),
    *(b"0001-01-01T00:00:00Z", b"0000-00-00", b"10000-01-01", b"2026-13-45 25:61:61", b"1970-01-01T00:00:00+99:99"),
    *(
        "²".encode(),
        "٣".encode(),
        "\u202e".encode(),
        b"%s%n",
        b"${jndi:ldap://x}",
        b"((((((((((",
        b"[" * 300,
        b"{" * 300,
    ),
)
WORD = re.compile(rb"[^\s,:;=\"'\[\]{}()]+")
NUMBER = re.compile(rb"\d+")


def cut(data: bytes, random: Random) -> bytes:
    """End the copy early, or drop its beginning."""
    offset = random.randrange(len(data) + 1)
    return random.choice((data[:offset], data[:offset], data[offset:]))


def splice(data: bytes, random: Random) -> bytes:
    """Repeat a part of the file, or leave it out."""
    begin, end, target = sorted(random.randrange(len(data) + 1) for _ in range(3))
    return data[:begin] + data[end:target] + data[begin:end] * random.choice((0, 2, 50)) + data[target:]


def flip_bits(data: bytes, random: Random) -> bytes:
    """Change a few bits, as a disk or a network does."""
    damaged = bytearray(data)
    for _ in range(random.choice((1, 3, 30)) if damaged else 0):
        damaged[random.randrange(len(damaged))] ^= 1 << random.randrange(8)
    return bytes(damaged)


def replace_words(data: bytes, random: Random) -> bytes:
    """Replace words or numbers by extreme ones."""
    pattern = random.choice((WORD, NUMBER))
    chance = random.choice((0.002, 0.02, 0.3))
    return pattern.sub(lambda match: random.choice(EXTREMES) if random.random() < chance else match[0], data)


def shuffle_lines(data: bytes, random: Random) -> bytes:
    """Let lines change places: several writers, or a tool that sorts."""
    lines = data.split(b"\n")
    random.shuffle(lines)
    return b"\n".join(lines)


def insert(data: bytes, random: Random) -> bytes:
    """Put something in the middle that does not belong there."""
    offset = random.randrange(len(data) + 1)
    return data[:offset] + random.choice(EXTREMES) * random.choice((1, 1, 200)) + data[offset:]


def compress(data: bytes, random: Random) -> bytes:
    """Compress the copy, and damage what is compressed."""
    packed = random.choice((gzip.compress, zstandard.compress))(data)
    return random.choice((lambda whole, _: whole, cut, flip_bits, insert))(packed, random)


def wrap(data: bytes, random: Random) -> bytes:
    """Put every line behind a prefix, or inside JSON, as a shipper writes it."""
    before, after = random.choice(
        (
            (b"worker-1 | ", b""),
            (b'{"log":"', b'\\n","stream":"stdout","time":"2026-02-16T12:00:00Z"}'),
            (b"2026-02-16T12:00:00.000000000Z stdout F ", b""),
            (b"2026-02-16T12:00:00 2026/02/16/[$LATEST]0123456789abcdef0123456789abcdef ", b""),
        )
    )
    return b"\n".join(before + line + after for line in data.split(b"\n"))


MUTATIONS: tuple[Callable[[bytes, Random], bytes], ...] = (
    cut,
    splice,
    flip_bits,
    replace_words,
    shuffle_lines,
    insert,
    compress,
    wrap,
)


def mutate(data: bytes, random: Random) -> bytes:
    """Return a damaged copy: one to three kinds of damage, one after the other."""
    max_bytes = random.choice(INPUT_BYTES)
    for _ in range(random.choice((1, 1, 2, 3))):
        data = random.choice(MUTATIONS)(data[:max_bytes], random)
    return data
