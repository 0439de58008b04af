"""The peer of `bench.watch`: a Kafka Streams program that looks for the same signatures in the same topic.

It writes each line that a signature matches to another topic. It extracts no fields and no times, and knows neither
records of several lines nor silences: the least that finds the lines of known failures.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bench.literals import required
from bench.peers import patterns

from leadsman.java import jars, runtime

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.lab.brokers.cluster import Cluster

PROGRAM = Path(__file__).parent / "streams" / "LineMatches.java"
CLIENT = "streams-4.3.1"
MATCHES_TOPIC = "matches"
HEAP = "-Xmx1g"


class StreamsPeer:
    """The running program; each round reads the topic once, in the same JVM."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def round(self) -> tuple[float, float, int]:
        """Return wall seconds, CPU seconds and matched lines of one more round."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("round\n")
        self._process.stdin.flush()
        wall, cpu, matched = self._process.stdout.readline().split()
        return float(wall), float(cpu), int(matched)


@contextmanager
def streams_peer(cluster: Cluster, topic: str, lines: int, folder: Path) -> Iterator[StreamsPeer]:
    """Run the program until the block ends. The broker is that of `cluster`, the topic holds so many lines."""
    folder.mkdir()
    signatures = folder / "signatures.tsv"
    signatures.write_text("".join(f"{line}\n" for line in _signature_lines()), encoding="utf-8")
    cluster.create_topic(MATCHES_TOPIC, partitions=4, config={"retention.ms": "-1"})
    class_path = [*jars.fetch_jars("aho-corasick"), *jars.fetch_jars(CLIENT)]
    joined = os.pathsep.join(map(str, [runtime.compile_source(PROGRAM, class_path), *class_path]))
    arguments = [cluster.bootstrap, topic, MATCHES_TOPIC, str(signatures), str(lines), str(os.cpu_count())]
    command = [str(runtime.find_java()), HEAP, "-cp", joined, "LineMatches", *arguments]
    log = (folder / "streams.log").open("w")
    with (
        log,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            yield StreamsPeer(process)
        finally:
            process.kill()


def _signature_lines() -> Iterator[str]:
    """Yield each pattern with the texts of which a line must contain one."""
    for pattern in patterns():
        texts = required([pattern])
        if not all(texts):
            raise ValueError(f"No text is in every line that {pattern} matches.")
        yield "\t".join((pattern, *texts))
