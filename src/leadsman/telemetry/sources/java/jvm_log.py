"""Log of a Java runtime about its memory: garbage collection, memory errors, heap dumps."""

from __future__ import annotations

from leadsman import vocabulary as v
from leadsman.telemetry.source import Signature, Source

HEAP = r"(?P<before>\d+)(?P<unit>[KMG])->(?P<after>\d+)[KMG]\((?P<size>\d+)[KMG]\)"

SOURCE = Source(
    "jvm_log",
    "Java runtime log",
    "runtime",
    (
        # Since Java 9, with -Xlog:gc and any decorations, from every collector that stops the world.
        Signature(
            v.GC_PAUSED, rf"GC\(\d+\) (?P<kind>Pause \w+) [^\n]{{0,100}}\) {HEAP} (?P<value>[\d.]+)ms\b", scale=0.001
        ),
        Signature(v.GC_PAUSED, rf"GC\(\d+\) (?P<kind>Pause \w+) {HEAP} (?P<value>[\d.]+)ms\b", scale=0.001),
        # Java 8: serial and parallel collectors, with or without -XX:+PrintGCDetails.
        Signature(v.GC_PAUSED, rf"\[(?P<kind>Full GC|GC) [^\n]{{0,400}} {HEAP}, (?P<value>[\d.]+) secs\]"),
        Signature(
            v.MEMORY_EXHAUSTED,
            r"java\.lang\.OutOfMemoryError: (?P<reason>Java heap space|GC overhead limit exceeded|Metaspace|"
            r"Direct buffer memory|unable to create (?:new )?native thread)",
            names_source=False,
        ),
        Signature(v.HEAP_DUMPED, r"Dumping heap to (?P<dump>[^ \n]+) \.\.\."),
        Signature(v.HEAP_DUMPED, r"Heap dump file created \[(?P<bytes>\d+) bytes in"),
    ),
)
