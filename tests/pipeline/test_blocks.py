"""Files come as blocks of whole lines, whatever they are packed in, and a broken one says where it broke."""

import bz2
import gzip
import random
import zlib
from pathlib import Path

import pyarrow as pa
import pytest

from leadsman.pipeline.read import blocks as module
from leadsman.pipeline.read.blocks import BLOCK_BYTES, LONGEST_LINE_BYTES, Block, DecompressionError, blocks

random.seed(7)
LINES = b"".join(b"2026-02-16 12:00:00,000 INFO x %d\n" % random.getrandbits(64) for _ in range(60_000))


def whole(path: Path) -> bytes:
    return b"".join(block.data[: block.end] for block in blocks(path))


PACKED = {
    "plain": lambda data: data,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "zstd": lambda data: pa.compress(data, "zstd", asbytes=True),
    "two gzip members": lambda data: gzip.compress(data[:1000]) + gzip.compress(data[1000:]),
}


@pytest.mark.parametrize("pack", PACKED.values(), ids=PACKED)
def test_what_was_packed_comes_out_again(pack, tmp_path: Path):
    (tmp_path / "log").write_bytes(pack(LINES))

    assert whole(tmp_path / "log") == LINES


@pytest.mark.parametrize("pack", PACKED.values(), ids=PACKED)
def test_every_block_ends_with_a_line(pack, tmp_path: Path):
    (tmp_path / "log").write_bytes(pack(LINES))

    assert all(block.data[block.end - 1 : block.end] == b"\n" for block in blocks(tmp_path / "log"))


def test_a_last_line_without_a_newline_is_not_lost(tmp_path: Path):
    (tmp_path / "log").write_bytes(b"one\ntwo")

    assert whole(tmp_path / "log") == b"one\ntwo"


def test_a_line_longer_than_a_block_stays_whole(tmp_path: Path):
    line = b"x" * (BLOCK_BYTES + 10) + b"\n"
    (tmp_path / "log").write_bytes(line + b"y\n")

    assert next(block.end for block in blocks(tmp_path / "log")) in {len(line), len(line) + 2}


def test_an_endless_line_comes_in_pieces(tmp_path: Path):
    (tmp_path / "log").write_bytes(b"x" * (3 * LONGEST_LINE_BYTES))

    assert max(len(block.data) for block in blocks(tmp_path / "log")) <= 2 * LONGEST_LINE_BYTES
    assert len(whole(tmp_path / "log")) == 3 * LONGEST_LINE_BYTES


SOME = LINES[: 40 * LINES.index(b"\n")]
DAMAGED = {
    "a checksum that is wrong": (lambda: gzip.compress(SOME)[:-8] + b"12345678", "checksum .* is wrong"),
    "no checksum": (lambda: gzip.compress(SOME)[:-8], "was cut"),
    "other bytes behind gzip": (lambda: gzip.compress(SOME) + b"junk", "other bytes follow"),
    "other bytes behind two members": (
        lambda: gzip.compress(SOME[:99]) + gzip.compress(SOME[99:]) + b"x",
        "other bytes",
    ),
    "other bytes behind zstd": (lambda: PACKED["zstd"](SOME) + b"junk", "other bytes follow"),
}


@pytest.mark.parametrize(("damaged", "why"), DAMAGED.values(), ids=DAMAGED)
def test_of_a_damaged_file_all_that_is_whole_is_read(damaged, why: str, tmp_path: Path):
    (tmp_path / "log").write_bytes(damaged())
    read: list[Block] = []

    with pytest.raises(DecompressionError, match=why):
        read.extend(blocks(tmp_path / "log"))
    assert b"".join(block.data[: block.end] for block in read) == SOME


def test_zeros_behind_the_end_are_no_damage(tmp_path: Path):
    (tmp_path / "log").write_bytes(gzip.compress(SOME) + bytes(100_000) + gzip.compress(SOME) + bytes(512))

    assert whole(tmp_path / "log") == SOME * 2


@pytest.mark.parametrize("size", [len(SOME), len(LINES)])
@pytest.mark.parametrize("share", [0.3, 0.5, 0.9, 0.999])
def test_a_cut_file_is_read_up_to_the_cut(size: int, share: float, tmp_path: Path):
    packed = gzip.compress(LINES[:size])
    cut = packed[: int(len(packed) * share)]
    (tmp_path / "log.gz").write_bytes(cut)
    read: list[Block] = []

    with pytest.raises(DecompressionError, match="was cut"):
        read.extend(blocks(tmp_path / "log.gz"))
    assert b"".join(block.data[: block.end] for block in read) == zlib.decompressobj(31).decompress(cut)


def test_a_bomb_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "EXPANSION_FREE_BYTES", 1 << 20)
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b"2026-02-16 12:00:00,000 INFO x\n" * 4_000_000))

    with pytest.raises(DecompressionError, match="expands more than"):
        whole(tmp_path / "bomb.gz")
