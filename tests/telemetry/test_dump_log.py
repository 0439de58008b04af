"""Snapshots that `kafka-dump-log` prints: read block by block they are what they are line by line."""

import random
import re
import sys

import pytest

from leadsman.telemetry.outputs.parser import OutputContext
from leadsman.telemetry.sources.kafka_tools.kafka_dump_log import SOURCE


def dumped_id(random_: random.Random, number: int) -> str:
    last_timestamp = random_.choice(["", "lastTimestamp: 5 "])
    return (
        f"producerId: {number} producerEpoch: {random_.choice([0, 0, 1])} coordinatorEpoch: {random_.choice([-1, 3])} "
        f"currentTxnFirstOffset: {random_.choice(['None', 'OptionalLong[7]'])} {last_timestamp}"
        f"firstSequence: {random_.choice([0, 0, 5, -1])} lastSequence: {random_.randrange(-1, 9)} lastOffset: 4 "
        f"offsetDelta: 1 timestamp: {1_700_000_000_000 + random_.randrange(20)}"
    )


def dump(random_: random.Random) -> list[str]:
    lines = [] if random_.random() < 0.9 else [dumped_id(random_, 0)]  # of a snapshot whose heading is lost
    for partition in range(random_.randrange(5)):
        lines.append(f"Dumping /data/orders-{partition}/00000000000000000015.snapshot")
        lines += ["WARN something"] if random_.random() < 0.2 else []
        lines += [dumped_id(random_, number) for number in range(random_.randrange(30))]
    return lines


def blocks_of(lines: list[str], count: int) -> list[bytes]:
    return ["".join(f"{line}\n" for line in lines[at : at + count]).encode() for at in range(0, len(lines), count)]


def read_line_by_line(lines: list[str]) -> list[tuple[str, float, int, str]]:
    """Return each snapshot's partition, how many ids it has, and which line is quoted of it."""
    found: list[tuple[str, float, int, str]] = []
    oldest = 0
    for number, line in enumerate(lines, start=1):
        if heading := re.match(r"Dumping .*-(\d+)/", line):
            found.append((heading[1], 0, number, line))
            oldest = sys.maxsize
        elif found and (match := re.search(r"producerEpoch: (\d+) .* firstSequence: (\S+) .* timestamp: (\d+)$", line)):
            partition, count, quoted_number, quoted = found[-1]
            if match[1] == match[2] == "0" and int(match[3]) < oldest:
                oldest, quoted_number, quoted = int(match[3]), number, line
            found[-1] = (partition, count + 1, quoted_number, quoted)
    return found


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("block_lines", [1, 7, 1000])
def test_a_dump_is_the_same_in_blocks_of_any_size(seed: int, block_lines: int):
    lines = dump(random.Random(seed))
    assert SOURCE.parser is not None

    events = list(SOURCE.parser.read(blocks_of(lines, block_lines), OutputContext(file="dump.txt")))

    assert [
        (each.labels["partition"][0], each.values[0], each.lines[0], each.texts[0]) for each in events
    ] == read_line_by_line(lines)


def test_the_lines_and_texts_of_many_small_snapshots():
    lines = [line for seed in range(200) for line in dump(random.Random(seed)) if not line.startswith("producerId: 0 ")]
    assert SOURCE.parser is not None

    events = list(SOURCE.parser.read(blocks_of(lines, 500), OutputContext(file="dump.txt")))

    assert [(each.lines[0], each.texts[0]) for each in events] == [row[2:] for row in read_line_by_line(lines)]
    assert len(events) > 300
