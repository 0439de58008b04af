# ruff: noqa: E501 - patterns and queries read worse in pieces
"""The same full job in Polars and in DuckDB, each in its own best way. Run as a process of its own:

    python -m bench.peers polars LOGS OUT CORES
    python -m bench.peers duckdb LOGS OUT CORES

Every line's time is read, so that a hit gets its record's time and the gap before it. Lines are sifted by the texts
that signatures require, and signatures and fields are tried on what is left. Prints one line of JSON: seconds of the job (imports left out), lines with a hit, rows of counts.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench.literals import required

from leadsman.pipeline.scope.streams import list_files
from leadsman.telemetry.source import all_signatures

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

FIELDS = {
    "level": (
        r"^\[[^\]]*\] (\w+) ",
        r"^\S+ \S+ \[[^\]]*\] (\w+) ",
        r'"level":"(\w+)"',
        r"^\S+Z \S+Z\t\S+\t(\w+)\t",
        r"^%(\d)\|",
    ),
    "logger": (
        r"\(([\w.$]+)\)$",
        r"^\S+ \S+ \[[^\]]*\] \w+ +(\S+) - ",
        r'"logger_name":"([^"]+)"',
        r"^\S+Z \S+Z\t\S+\t\w+\t(\S+)\t",
        r"^%\d\|[\d.]+\|(\w+)\|",
    ),
    "client_id": (r"clientId=([^,\]\s]+)", r"rdkafka#([^|]+)\|"),
    "node": (r"(?:[Nn]ode |broker=|brokerId=|broker id=|replicaId=)(-?\d+)", r":\d+/(\d+):"),
    "topic": (
        r"(?:topic-partition|partition|Partition|for)[ =]([A-Za-z0-9._-]+)-\d+\b",
        r"\b([A-Za-z0-9._-]+) \[\d+\]",
    ),
    "partition": (
        r"(?:topic-partition|partition|Partition|for)[ =][A-Za-z0-9._-]+-(\d+)\b",
        r"\b[A-Za-z0-9._-]+ \[(\d+)\]",
    ),
}  # fmt: skip - one field a line
"""The first of these that matches a hit is the field."""

JSON_TIME = len('{"@timestamp":"')
SHOWN = 3
MINUTE_MS = 60_000


def patterns(sources: Collection[str] = ()) -> list[str]:
    """Return every signature, or those of some sources, in the words of Rust's and RE2's regular expressions.

    A name may come only once there, and ripgrep before 14 knows no escaped quotation mark.
    """
    chosen = (signature for source, signature, _ in all_signatures() if not sources or source.name in sources)
    bare = (re.sub(r"\(\?P<\w+>", "(?:", signature.pattern) for signature in chosen)
    return ["".join('"' if piece == '\\"' else piece for piece in re.findall(r"\\.|.", pattern)) for pattern in bare]


ESCAPES = {"\\w": "0-9A-Za-z_", "\\d": "0-9"}


def ascii_only(pattern: str) -> str:
    """Return the pattern with the classes of ASCII: Unicode's make a counted repetition too large for Rust's engine."""
    simplified, inside = "", False
    for piece in re.findall(r"\\.|.", pattern):
        inside = piece == "[" or (inside and piece != "]")
        listed = ESCAPES.get(piece)
        simplified += piece if listed is None else listed if inside else f"[{listed}]"
    return simplified.replace("\\b", r"(?-u:\b)")


def candidates() -> str:
    """Return one pattern of plain texts: no line without one of them can match a signature."""
    return "|".join(re.escape(text).replace("\\ ", " ") for text in required(patterns()))


def files(logs: Path) -> list[str]:
    """Return all files, those of a stream one after the other, the rotated one first."""
    return [
        file.path
        for stream in list_files(str(logs)).streams
        for file in sorted(stream.files, key=lambda file: -len(file.name))
    ]


def polars(logs: Path, out: Path) -> tuple[int, int]:
    """Do the job with Polars' streaming engine where it can, in memory where it must."""
    import polars as pl

    line, singles = pl.col("line"), [ascii_only(pattern) for pattern in patterns()]
    first = line.str.slice(0, 1)
    text = (
        pl.when(first == "[").then(line.str.slice(1, 23))
        .when(first == "2").then(line.str.slice(0, 23))
        .when(first == "{").then(line.str.slice(JSON_TIME, 23))
    )  # fmt: skip
    written = text.str.replace_many(["T", ","], [" ", "."])
    at = pl.coalesce(
        written.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False, time_unit="ms").dt.epoch("ms"),
        pl.when(first == "%").then((line.str.slice(3, 14).cast(pl.Float64, strict=False) * 1000).cast(pl.Int64)),
    )
    timed = (
        pl.scan_lines(files(logs), name="line", include_file_paths="file", glob=False)
        .select(
            pl.col("file").str.strip_suffix(".1").alias("stream"), at.alias("own"), pl.when(line.str.contains(candidates())).then(line).alias("line"),
        )
        .collect(engine="streaming")
        .with_columns(pl.col("own").forward_fill().over("stream").alias("at"))
        .with_columns(pl.col("own").shift(1).forward_fill().over("stream").alias("before"))
    )  # fmt: skip
    events = timed.filter(line.is_not_null()).select(
        "stream", "at", (pl.col("at") - pl.col("before")).alias("gap"), "line",
        *(pl.coalesce(*(line.str.extract(pattern, 1) for pattern in each)).alias(name) for name, each in FIELDS.items()),
        pl.coalesce(*(pl.when(line.str.contains(pattern)).then(pl.lit(index)) for index, pattern in enumerate(singles))).alias("signature"),
    ).filter(pl.col("signature").is_not_null())  # fmt: skip
    counts = events.group_by(pl.col("at") // MINUTE_MS, "signature").len()
    events.write_parquet(out / "events.parquet", compression="zstd")
    counts.write_parquet(out / "counts.parquet")
    return events.height, counts.height


def duckdb(logs: Path, out: Path) -> tuple[int, int]:
    """Do the job in one query: DuckDB reads lines fastest as a table of one column."""
    import duckdb as engine

    connection = engine.connect(config={"threads": int(os.environ["BENCH_CORES"])})
    connection.execute("SET enable_progress_bar = false")
    connection.execute(duckdb_query(logs))
    connection.execute(f"COPY events TO {_quoted(str(out / 'events.parquet'))} (FORMAT parquet, COMPRESSION zstd)")
    connection.execute(f"""
        COPY (SELECT moment // {MINUTE_MS} AS minute, signature, count(*) AS lines FROM events GROUP BY ALL)
        TO {_quoted(str(out / "counts.parquet"))} (FORMAT parquet)
    """)
    ((events,),) = connection.execute("SELECT count(*) FROM events").fetchall()
    ((counts,),) = connection.execute(f"SELECT count(*) FROM {_quoted(str(out / 'counts.parquet'))}").fetchall()
    return events, counts


def duckdb_query(logs: Path) -> str:
    """Return the job as one query into the table `events`."""
    # A bracket is a wildcard to DuckDB: [$LATEST] has to be spelled out.
    listed = ", ".join(_quoted(name.replace("[", "[[]")) for name in files(logs))
    source = (
        f"read_csv([{listed}], columns = {{'line': 'VARCHAR'}}, delim = '\x01', quote = '', escape = '', header = false, "
        "auto_detect = false, filename = true, max_line_size = 4000000, strict_mode = false, new_line = '\\n')"
    )
    singles = patterns()
    fields = ", ".join(
        "coalesce("
        + ", ".join(f"nullif(regexp_extract(line, {_quoted(pattern)}, 1), '')" for pattern in each)
        + f") AS {name}"
        for name, each in FIELDS.items()
    )
    signature = (
        "CASE "
        + " ".join(
            f"WHEN regexp_matches(line, {_quoted(pattern)}) THEN {index}" for index, pattern in enumerate(singles)
        )
        + " END"
    )
    return f"""
        CREATE TEMP TABLE events AS
        WITH timed AS (
            SELECT regexp_replace(filename, '[.]1$', '') AS stream, row_number() OVER () AS number,
                CASE line[1]
                    WHEN '[' THEN epoch_ms(try_cast(translate(line[2:24], ',', '.') AS TIMESTAMP))
                    WHEN '2' THEN epoch_ms(try_cast(translate(line[1:23], 'T', ' ') AS TIMESTAMP))
                    WHEN '{{' THEN epoch_ms(try_cast(translate(line[{JSON_TIME + 1}:{JSON_TIME + 23}], 'T', ' ') AS TIMESTAMP))
                    WHEN '%' THEN (try_cast(line[4:17] AS DOUBLE) * 1000)::BIGINT
                END AS own,
                CASE WHEN regexp_matches(line, {_quoted(candidates())}) THEN line END AS line
            FROM {source}
        ), filled AS (
            SELECT stream, line,
                last_value(own IGNORE NULLS) OVER (PARTITION BY stream ORDER BY number ROWS UNBOUNDED PRECEDING) AS moment,
                last_value(own IGNORE NULLS) OVER (
                    PARTITION BY stream ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                ) AS before
            FROM timed
        )
        SELECT stream, moment, moment - before AS gap, line, {fields}, {signature} AS signature FROM filled WHERE line IS NOT NULL AND signature IS NOT NULL
    """


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


PEERS: dict[str, Callable[[Path, Path], tuple[int, int]]] = {"polars": polars, "duckdb": duckdb}


def main() -> None:
    """Do one peer's job once."""
    name, logs, out, cores = sys.argv[1:]
    os.environ |= {"POLARS_MAX_THREADS": cores, "BENCH_CORES": cores}
    __import__(name)
    patterns()
    started = time.perf_counter()
    hits, counts = PEERS[name](Path(logs), Path(out))
    print(json.dumps({"seconds": time.perf_counter() - started, "hits": hits, "counts": counts}))


if __name__ == "__main__":
    main()
