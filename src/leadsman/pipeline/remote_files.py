"""Reads captures from any file system that Hadoop knows: object stores, HDFS. Named by URL, such as s3a://bucket/logs.

Two functions in Java (`java/RemoteFiles.java`) run in Spark's tasks: one lists what is below a URL, one reads a piece
of a file. A task gets its streams as rows, one a piece; the pieces are put together on the executor's disk, stream by
stream, and read there as local files are. Nothing is read in the driver, and no file is ever whole in memory.
"""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from leadsman.capture import MANIFEST, SCHEMA, parsed_manifest
from leadsman.errors import CaptureError
from leadsman.model import NotUnderstood
from leadsman.pipeline.copies import without_copies
from leadsman.pipeline.events import SPARK, batches
from leadsman.pipeline.executors import is_connect
from leadsman.pipeline.parcels import PARCEL_IN_SPARK
from leadsman.pipeline.read import not_understood, read
from leadsman.pipeline.streams import LONGEST_MANIFEST, File, Found, Stream, balanced, grouped, is_elsewhere

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import tzinfo

    from pyspark.sql import DataFrame, SparkSession

    from leadsman.capture import Manifest
    from leadsman.pipeline.events import Row
    from leadsman.pipeline.question import Input

PIECE_BYTES = 4 << 20
"""What is read at once: large enough that a request is no cost, small enough that a few fit into any worker."""

JAVA = Path(__file__).with_name("java") / "RemoteFiles.java"

LIST, READ = "leadsman_files_below", "leadsman_piece"
LISTED = "array<struct<path:string,name:string,bytes:bigint,changed:bigint,problem:string>>"
PIECE = "struct<content:binary,problem:string>"

ASKED = pa.schema(
    [  # type: ignore[arg-type]  # the stubs take fields of one type
        pa.field("part", pa.int32()),
        pa.field("stream", pa.int32()),
        pa.field("file", pa.int32()),
        pa.field("path", pa.string()),
        pa.field("bytes", pa.int64()),
        pa.field("offset", pa.int64()),
        pa.field("length", pa.int32()),
    ]
)
ASKED_IN_SPARK = "part int, stream int, file int, path string, bytes bigint, offset bigint, length int"

Parts = list[list[Stream]]
"""The streams of each task."""


class Piece(NamedTuple):
    """Some bytes of one file, or why there are none."""

    part: int
    stream: int
    file: int
    content: Any
    problem: str | None


@dataclass(frozen=True, slots=True)
class Spooled:
    """A stream whose files lie on this machine's disk, without those that could not be read: why, by file."""

    stream: Stream
    failed: Mapping[File, str]


def remote_events(
    spark: SparkSession, streams: Sequence[Stream], zone: tzinfo, *, tasks: int, packed: bool = False
) -> DataFrame:
    """Return the event table of streams that lie elsewhere, or its parcels."""
    parts = balanced(streams, tasks)

    def read_streams(pieces: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from leadsman.pipeline.parcels import parcels  # noqa: PLC0415 - runs on the executor
        from leadsman.pipeline.remote_files import events_of_pieces  # noqa: PLC0415

        told = events_of_pieces(pieces, parts, zone)
        yield from parcels(told) if packed else told

    schema = PARCEL_IN_SPARK if packed else SPARK
    return pieces_of_parts(spark, parts, pieces_of).mapInArrow(read_streams, schema)


def listed(spark: SparkSession, source: Input, cores: int) -> Input:
    """Return the input with what there is below its URLs, as a folder's files are: captures, streams, manifests.

    Raises CaptureError where there is nothing.
    """
    if not (urls := [path for path in source.found if is_elsewhere(path) and not source.found[path].streams]):
        return source
    from leadsman.pipeline.remote_copies import Elsewhere  # noqa: PLC0415 - it imports this module

    _register(spark)
    files = {url: _listed(spark, url) for url in urls}
    texts = _manifest_texts(spark, [file for each in files.values() for file in each if isinstance(file, File)])
    found: dict[str, Found] = {}
    for path, each in source.found.items():
        found |= _captures(path, files[path], texts) if path in files else {path: each}
    urls_found = {path: each for path, each in found.items() if is_elsewhere(path)}
    return replace(source, found=found | without_copies(urls_found, Elsewhere(spark, source.zone, cores)))


def _listed(spark: SparkSession, url: str) -> list[File | NotUnderstood]:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's own convention

    root = F.concat(F.lit(url), F.col("id").cast("string").substr(2, 1))  # no constant: the driver would compute it
    rows = spark.range(1).select(F.explode(F.call_function(LIST, root)).alias("file")).select("file.*").collect()
    found = [_file(**row.asDict()) for row in rows]
    if len(found) == 1 and not rows[0]["name"]:
        raise CaptureError(f"No capture at {url}: {rows[0]['problem']}. Give a folder of logs, or a log file.")
    if not any(isinstance(each, File) for each in found):
        raise CaptureError(f"Nothing to read at {url}. Give a capture, a folder of logs, or a log file.")
    return found


def _file(path: str, name: str | None, *, bytes: int, changed: int, problem: str | None) -> File | NotUnderstood:  # noqa: A002 - the columns' names
    if problem is not None:
        return NotUnderstood(name or path, f"folder cannot be read: {problem}")
    return File(path, name or path, bytes, datetime.fromtimestamp(changed / 1000, UTC))


def _captures(path: str, files: Sequence[File | NotUnderstood], texts: Mapping[str, str]) -> dict[str, Found]:
    """Return what there is of each capture below a URL; `texts` are the manifests by their files' paths."""
    folders = {_name(file).rpartition("/")[0] for file in files if isinstance(file, File) and file.path in texts}
    below = sorted(
        (each for each in folders if each and not _is_below(each, folders)), key=lambda each: each.split("/")
    )
    if "" in folders:
        below = []
    own = [file for file in files if not any(_name(file).startswith(f"{folder}/") for folder in below)]
    found = {path: _found(path, own, texts)}
    if below and not found[path].streams:
        found = {}
    for folder in below:
        inside = [_renamed(file, folder) for file in files if _name(file).startswith(f"{folder}/")]
        place = f"{path.rstrip('/')}/{folder}"
        found[place] = _found(place, inside, texts)
    return found


def _is_below(folder: str, folders: Iterable[str]) -> bool:
    return any(other and folder.startswith(f"{other}/") for other in folders)


def _name(file: File | NotUnderstood) -> str:
    return file.name if isinstance(file, File) else file.file


def _renamed(file: File | NotUnderstood, folder: str) -> File | NotUnderstood:
    name = _name(file).removeprefix(f"{folder}/")
    return replace(file, name=name) if isinstance(file, File) else replace(file, file=name)


def _found(path: str, files: Iterable[File | NotUnderstood], texts: Mapping[str, str]) -> Found:
    manifest: Manifest | None = None
    read_later: list[File] = []
    refused: list[NotUnderstood] = []
    for file in sorted(files, key=lambda file: _name(file).split("/")):
        if isinstance(file, NotUnderstood):
            refused.append(file)
        elif file.name != MANIFEST:
            read_later.append(file)
        elif file.path in texts:
            manifest = parsed_manifest(texts[file.path], file.path)
    return Found(tuple(grouped(path, read_later)), tuple(refused), manifest=manifest)


def _manifest_texts(spark: SparkSession, files: Sequence[File]) -> dict[str, str]:
    """Return the manifests among the files by their paths, as executors read them; other programs name files so too."""
    called = [file for file in files if file.name.rpartition("/")[2] == MANIFEST and file.bytes <= LONGEST_MANIFEST]
    if not called:
        return {}
    parts = [[Stream("", file.path, (file,))] for file in called]

    def texts(pieces: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from leadsman.pipeline.remote_files import spooled  # noqa: PLC0415 - runs on the executor

        for each in spooled(pieces, parts):
            text = "".join(Path(file.path).read_text("utf-8", "replace") for file in each.stream.files)
            if SCHEMA in text:
                yield pa.RecordBatch.from_pydict({"path": [each.stream.name], "text": [text]})

    rows = pieces_of_parts(spark, parts, pieces_of).mapInArrow(texts, "path string, text string").collect()
    return {row["path"]: row["text"] for row in rows}


def pieces_of_parts(spark: SparkSession, parts: Parts, requests_of: Callable[..., Any]) -> DataFrame:
    """Return the pieces that are asked for of all streams as rows, in their order, one partition a part."""

    def asked(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            ids: list[Any] = batch.column("id").to_pylist()
            yield from (rows for number in ids for rows in requests_of(number, parts[number]))

    rows = spark.range(0, len(parts), 1, len(parts)).mapInArrow(asked, ASKED_IN_SPARK)
    return rows.selectExpr("part", "stream", "file", f"{READ}(path, bytes, `offset`, length) AS piece")


def pieces_of(part: int, streams: Sequence[Stream]) -> Iterator[pa.RecordBatch]:
    """Yield the rows that ask for a part's files; one for an empty file, so that it is there too."""
    for number, stream in enumerate(streams):
        for place, file in enumerate(stream.files):
            offsets = range(0, max(file.bytes, 1), PIECE_BYTES)
            spans = [(offset, min(PIECE_BYTES, file.bytes - offset)) for offset in offsets]
            yield requests(part, number, place, file=file, spans=spans)


def requests(part: int, stream: int, place: int, *, file: File, spans: Sequence[tuple[int, int]]) -> pa.RecordBatch:
    """Return the rows that ask for some spans of a file: offset and length."""
    count = len(spans)
    columns: dict[str, list[Any]] = {
        "part": [part] * count,
        "stream": [stream] * count,
        "file": [place] * count,
        "path": [file.path] * count,
        "bytes": [file.bytes] * count,
        "offset": [offset for offset, _ in spans],
        "length": [length for _, length in spans],
    }
    return pa.RecordBatch.from_pydict(columns, schema=ASKED)


def events_of_pieces(pieces: Iterable[pa.RecordBatch], parts: Parts, zone: tzinfo) -> Iterator[pa.RecordBatch]:
    """Yield the events of the streams whose pieces come."""
    return batches(row for each in spooled(pieces, parts) for row in _events(each, zone))


def _events(each: Spooled, zone: tzinfo) -> Iterator[Row | pa.RecordBatch]:
    for file, why in each.failed.items():
        yield not_understood(each.stream.capture, file, f"not read: {why}")
    if each.stream.files:
        yield from read(each.stream, zone)


def spooled(pieces: Iterable[pa.RecordBatch], parts: Parts) -> Iterator[Spooled]:
    """Yield each stream as soon as it is whole on this machine's disk. It goes when the next one is wanted."""
    for (part, stream), of_stream in groupby(_in_order(pieces), key=lambda piece: piece[:2]):
        with TemporaryDirectory(prefix="leadsman-") as folder:
            yield _spool(parts[part][stream], of_stream, Path(folder))


def _in_order(pieces: Iterable[pa.RecordBatch]) -> Iterator[Piece]:
    for batch in pieces:
        numbers = (batch.column(name).to_pylist() for name in ("part", "stream", "file"))
        piece: Any = batch.column("piece")
        contents, problems = piece.field("content"), piece.field("problem").to_pylist()
        for row, (part, stream, file) in enumerate(zip(*numbers, strict=True)):
            yield Piece(part, stream, file, contents[row].as_buffer(), problems[row])


def _spool(stream: Stream, pieces: Iterable[Piece], folder: Path) -> Spooled:
    files: list[File] = []
    failed: dict[File, str] = {}
    for number, of_file in groupby(pieces, key=lambda piece: piece.file):
        file, target = stream.files[number], folder / str(number)
        if problem := _written(of_file, target):
            failed[file] = problem
        else:
            files.append(replace(file, path=str(target)))
    return Spooled(replace(stream, files=tuple(files)), failed)


def _written(pieces: Iterable[Piece], target: Path) -> str | None:
    """Write a file's pieces one after another; return why it could not be done. All of them are taken in any case."""
    problem: str | None = None
    with target.open("wb", buffering=0) as file:
        for piece in pieces:
            problem = problem or piece.problem
            if problem is None:
                try:
                    file.write(piece.content)
                except OSError as error:
                    problem = f"no place for it on the executor's disk at {target.parent.parent}: {error.strerror}"
    if problem is not None:
        target.unlink()
    return problem


def _register(spark: SparkSession) -> None:
    """Make the two functions known to the session, and their classes to its executors."""
    functions = str(jar())
    if is_connect(spark):
        spark.addArtifacts(functions)
    else:
        spark.sql(f"ADD JAR '{functions}'")
    spark.udf.registerJavaFunction(LIST, "leadsman.RemoteFiles$Listing", LISTED)
    spark.udf.registerJavaFunction(READ, "leadsman.RemoteFiles$Piece", PIECE)


def jar() -> Path:
    """Return a jar of the two functions, compiled against the installed PySpark unless the cache has it."""
    from leadsman import java  # noqa: PLC0415 - only where captures lie elsewhere
    from leadsman.pipeline.jvm import spark_home  # noqa: PLC0415

    classes = java.compiled(JAVA, sorted((spark_home() / "jars").glob("*.jar")))
    target = classes / "remote-files.jar"
    if not target.exists():
        part = classes / f".{os.getpid()}.jar"
        with zipfile.ZipFile(part, "w") as archive:
            for path in sorted(classes.rglob("*.class")):
                archive.write(path, path.relative_to(classes))
        part.replace(target)
    return target
