"""Reads captures at URLs such as s3a://bucket/logs, from any file system of Hadoop: object stores, HDFS.

Two functions in Java (`java/RemoteFiles.java`) run in Spark's tasks: one lists the files below a URL, one reads a piece
of a file. A task gets its streams as rows, one for each piece. The pieces are joined on the executor's disk, stream by
stream, and read there as local files are. The driver reads nothing, and no file is ever completely in memory.
"""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from leadsman.capture import LONGEST_MANIFEST, MANIFEST, SCHEMA, parse_manifest
from leadsman.errors import CaptureError
from leadsman.model import NotUnderstood
from leadsman.pipeline.events import SPARK_DDL, batches
from leadsman.pipeline.read.stream import not_understood_event, read
from leadsman.pipeline.scope.copies import drop_duplicate_files
from leadsman.pipeline.scope.streams import (
    FOREIGN_MANIFEST,
    CaptureFiles,
    File,
    Stream,
    balance_streams,
    group_into_streams,
    is_url,
    unreadable_manifest,
)
from leadsman.pipeline.spark.executors import is_connect
from leadsman.pipeline.spark.packed_events import PACKED_EVENTS_DDL
from leadsman.pipeline.spark.pyspark_startup import map_in_arrow
from leadsman.run_folder import run_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import tzinfo

    from pyspark.sql import DataFrame, SparkSession

    from leadsman.capture import Manifest
    from leadsman.pipeline.events import EventRow
    from leadsman.pipeline.request import DiagnosisInput

PIECE_BYTES = 4 << 20
"""The bytes of one read: enough that requests take no noticeable time, and few enough that some fit into any worker."""

JAVA = Path(__file__).with_name("java") / "RemoteFiles.java"

LIST_FUNCTION, READ_FUNCTION = "leadsman_files_below", "leadsman_piece"
NOT_THERE = "there is no such file or folder"
"""RemoteFiles.java says so; every other problem is what the file system says."""

LISTING_DDL = "array<struct<path:string,name:string,bytes:bigint,changed:bigint,problem:string>>"
PIECE_DDL = "struct<content:binary,problem:string>"

PIECE_REQUEST = pa.schema(
    [  # type: ignore[arg-type]  # the stubs take fields of one type
        pa.field("task", pa.int32()),
        pa.field("stream", pa.int32()),
        pa.field("file", pa.int32()),
        pa.field("path", pa.string()),
        pa.field("bytes", pa.int64()),
        pa.field("offset", pa.int64()),
        pa.field("length", pa.int32()),
    ]
)
PIECE_REQUEST_DDL = "task int, stream int, file int, path string, bytes bigint, offset bigint, length int"

StreamsByTask = list[list[Stream]]
"""The streams of each task."""


class Piece(NamedTuple):
    """Some bytes of one file, or the reason why they cannot be read."""

    task: int
    stream: int
    file: int
    content: Any
    problem: str | None


@dataclass(frozen=True, slots=True)
class SpooledStream:
    """A stream whose files are on this machine's disk. `failed`: the files that could not be read, with the reason."""

    stream: Stream
    failed: Mapping[File, str]


def remote_event_frame(
    spark: SparkSession, streams: Sequence[Stream], zone: tzinfo, *, tasks: int, packed: bool = False
) -> DataFrame:
    """Return the event table of remote streams, or their packed events."""
    by_task = balance_streams(streams, tasks)

    def read_streams(pieces: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from leadsman.pipeline.scope.remote_files import read_piece_events
        from leadsman.pipeline.spark.packed_events import pack

        events = read_piece_events(pieces, by_task, zone)
        yield from pack(events) if packed else events

    schema = PACKED_EVENTS_DDL if packed else SPARK_DDL
    return map_in_arrow(read_pieces(spark, by_task, whole_file_requests), read_streams, schema)


def list_remote_files(spark: SparkSession, inputs: DiagnosisInput, cores: int) -> DiagnosisInput:
    """Return the input with the captures, streams and manifests below its URLs, as for local folders.

    Raises CaptureError where a URL has no files.
    """
    if not (urls := [path for path in inputs.captures if is_url(path) and not inputs.captures[path].streams]):
        return inputs
    from leadsman.pipeline.scope.remote_copies import RemoteFileMeasures

    register_functions(spark)
    files = {url: list_url(spark, url) for url in urls}
    texts = _manifest_texts(spark, [file for each in files.values() for file in each if isinstance(file, File)])
    captures: dict[str, CaptureFiles] = {}
    for path, each in inputs.captures.items():
        captures |= captures_at(path, files[path], texts) if path in files else {path: each}
    remote = {path: each for path, each in captures.items() if is_url(path)}
    return replace(
        inputs,
        captures=captures | drop_duplicate_files(remote, RemoteFileMeasures(spark, inputs.zone, cores)),
    )


def list_url(spark: SparkSession, url: str) -> list[File | NotUnderstood]:
    """Return what is below a URL. Raises CaptureError where that is nothing, or cannot be listed."""
    from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

    root = F.concat(
        F.lit(url), F.col("id").cast("string").substr(2, 1)
    )  # not a constant, which the driver would evaluate
    rows = (
        spark.range(1).select(F.explode(F.call_function(LIST_FUNCTION, root)).alias("file")).select("file.*").collect()
    )
    files = [_file(**row.asDict()) for row in rows]
    if len(files) == 1 and not rows[0]["name"]:
        problem, scheme = rows[0]["problem"], url.partition("://")[0]
        remedy = (
            "Give a folder of logs, or a log file."
            if problem == NOT_THERE
            else f"Check the address, the credentials, and Hadoop's settings of {scheme}:// (docs/scale.md, Storage)."
        )
        raise CaptureError(f"No capture at {url}: {problem}. {remedy}")
    if not any(isinstance(each, File) for each in files):
        raise CaptureError(f"Nothing to read at {url}. Give a capture, a folder of logs, or a log file.")
    return files


def _file(path: str, name: str | None, *, bytes: int, changed: int, problem: str | None) -> File | NotUnderstood:  # noqa: A002 - the columns' names
    if problem is not None:
        return NotUnderstood(name or path, f"folder cannot be read: {problem}")
    return File(path, name or path, bytes, datetime.fromtimestamp(changed / 1000, UTC))


def captures_at(path: str, files: Sequence[File | NotUnderstood], texts: Mapping[str, str]) -> dict[str, CaptureFiles]:
    """Return the files of each capture below a URL. `texts` are the manifests by the paths of their files."""
    folders = {_name(file).rpartition("/")[0] for file in files if isinstance(file, File) and file.path in texts}
    below = sorted(
        (each for each in folders if each and not _is_below(each, folders)), key=lambda each: each.split("/")
    )
    if "" in folders:
        below = []
    own = [file for file in files if not any(_name(file).startswith(f"{folder}/") for folder in below)]
    captures = {path: _capture_files(path, own, texts)}
    if below and not captures[path].streams:
        captures = {}
    for folder in below:
        inside = [_relative_to(file, folder) for file in files if _name(file).startswith(f"{folder}/")]
        location = f"{path.rstrip('/')}/{folder}"
        captures[location] = _capture_files(location, inside, texts)
    return captures


def _is_below(folder: str, folders: Iterable[str]) -> bool:
    return any(other and folder.startswith(f"{other}/") for other in folders)


def _name(file: File | NotUnderstood) -> str:
    return file.name if isinstance(file, File) else file.file


def _relative_to(file: File | NotUnderstood, folder: str) -> File | NotUnderstood:
    name = _name(file).removeprefix(f"{folder}/")
    return replace(file, name=name) if isinstance(file, File) else replace(file, file=name)


def _capture_files(path: str, files: Iterable[File | NotUnderstood], texts: Mapping[str, str]) -> CaptureFiles:
    manifest: Manifest | None = None
    to_read: list[File] = []
    skipped: list[NotUnderstood] = []
    for file in sorted(files, key=lambda file: _name(file).split("/")):
        if isinstance(file, NotUnderstood):
            skipped.append(file)
        elif file.name != MANIFEST:
            to_read.append(file)
        elif file.path in texts:
            try:
                manifest = parse_manifest(texts[file.path], file.path)
            except CaptureError as error:
                skipped.append(unreadable_manifest(file.name, error))
        else:
            skipped.append(FOREIGN_MANIFEST)
    return CaptureFiles(tuple(group_into_streams(path, to_read)), tuple(skipped), manifest=manifest)


def _manifest_texts(spark: SparkSession, files: Sequence[File]) -> dict[str, str]:
    """Return the texts of the manifests by path, read on executors. Other programs use the same file name too."""
    candidates = [file for file in files if file.name.rpartition("/")[2] == MANIFEST and file.bytes <= LONGEST_MANIFEST]
    if not candidates:
        return {}
    by_task = [[Stream("", file.path, (file,))] for file in candidates]

    def texts(pieces: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from leadsman.pipeline.scope.remote_files import spool_streams

        for each in spool_streams(pieces, by_task):
            text = "".join(Path(file.path).read_text("utf-8", "replace") for file in each.stream.files)
            if SCHEMA in text:
                yield pa.RecordBatch.from_pydict({"path": [each.stream.name], "text": [text]})

    pieces = read_pieces(spark, by_task, whole_file_requests)
    rows = map_in_arrow(pieces, texts, "path string, text string").collect()
    return {row["path"]: row["text"] for row in rows}


def read_pieces(spark: SparkSession, by_task: StreamsByTask, requests_of: Callable[..., Any]) -> DataFrame:
    """Return the requested pieces of all streams as rows, in their order, one partition for each task."""

    def request_pieces(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            ids: list[Any] = batch.column("id").to_pylist()
            yield from (rows for number in ids for rows in requests_of(number, by_task[number]))

    rows = map_in_arrow(spark.range(0, len(by_task), 1, len(by_task)), request_pieces, PIECE_REQUEST_DDL)
    return rows.selectExpr("task", "stream", "file", f"{READ_FUNCTION}(path, bytes, `offset`, length) AS piece")


def whole_file_requests(task: int, streams: Sequence[Stream]) -> Iterator[pa.RecordBatch]:
    """Yield the requests for a task's files; one for an empty file, so that the file is written too."""
    for number, stream in enumerate(streams):
        for position, file in enumerate(stream.files):
            offsets = range(0, max(file.bytes, 1), PIECE_BYTES)
            spans = [(offset, min(PIECE_BYTES, file.bytes - offset)) for offset in offsets]
            yield piece_requests(task, number, position, file=file, spans=spans)


def piece_requests(
    task: int, stream: int, position: int, *, file: File, spans: Sequence[tuple[int, int]]
) -> pa.RecordBatch:
    """Return the requests for spans of a file, given as offset and length."""
    count = len(spans)
    columns: dict[str, list[Any]] = {
        "task": [task] * count,
        "stream": [stream] * count,
        "file": [position] * count,
        "path": [file.path] * count,
        "bytes": [file.bytes] * count,
        "offset": [offset for offset, _ in spans],
        "length": [length for _, length in spans],
    }
    return pa.RecordBatch.from_pydict(columns, schema=PIECE_REQUEST)


def read_piece_events(
    pieces: Iterable[pa.RecordBatch], by_task: StreamsByTask, zone: tzinfo
) -> Iterator[pa.RecordBatch]:
    """Yield the events of the streams to which the pieces belong."""
    return batches(row for each in spool_streams(pieces, by_task) for row in _events(each, zone))


def _events(each: SpooledStream, zone: tzinfo) -> Iterator[EventRow | pa.RecordBatch]:
    for file, why in each.failed.items():
        yield not_understood_event(each.stream.capture, file, f"not read: {why}")
    if each.stream.files:
        yield from read(each.stream, zone)


def spool_streams(pieces: Iterable[pa.RecordBatch], by_task: StreamsByTask) -> Iterator[SpooledStream]:
    """Yield each stream once it is complete on this machine's disk. Its files are deleted before the next stream."""
    for (task, stream), of_stream in groupby(_in_order(pieces), key=lambda piece: piece[:2]):
        with run_folder() as folder:
            yield _spool(by_task[task][stream], of_stream, folder)


def _in_order(pieces: Iterable[pa.RecordBatch]) -> Iterator[Piece]:
    for batch in pieces:
        numbers = (batch.column(name).to_pylist() for name in ("task", "stream", "file"))
        piece: Any = batch.column("piece")
        contents, problems = piece.field("content"), piece.field("problem").to_pylist()
        for row, (task, stream, file) in enumerate(zip(*numbers, strict=True)):
            yield Piece(task, stream, file, contents[row].as_buffer(), problems[row])


def _spool(stream: Stream, pieces: Iterable[Piece], folder: Path) -> SpooledStream:
    files: list[File] = []
    failed: dict[File, str] = {}
    for number, of_file in groupby(pieces, key=lambda piece: piece.file):
        file, target = stream.files[number], folder / str(number)
        if problem := _write(of_file, target):
            failed[file] = problem
        else:
            files.append(replace(file, path=str(target)))
    return SpooledStream(replace(stream, files=tuple(files)), failed)


def _write(pieces: Iterable[Piece], target: Path) -> str | None:
    """Write a file's pieces one after another; return the reason of a failure. All pieces are consumed in any case."""
    problem: str | None = None
    with target.open("wb", buffering=0) as file:
        for piece in pieces:
            problem = problem or piece.problem
            if problem is None:
                try:
                    file.write(piece.content)
                except OSError as error:
                    problem = f"cannot be written to the executor's disk at {target.parent.parent}: {error.strerror}"
    if problem is not None:
        target.unlink()
    return problem


def register_functions(spark: SparkSession) -> None:
    """Register the two functions in the session, and send their classes to its executors."""
    functions = str(jar())
    if is_connect(spark):
        spark.addArtifacts(functions)
    else:
        spark.sql(f"ADD JAR '{functions}'")
    spark.udf.registerJavaFunction(LIST_FUNCTION, "leadsman.RemoteFiles$Listing", LISTING_DDL)
    spark.udf.registerJavaFunction(READ_FUNCTION, "leadsman.RemoteFiles$Piece", PIECE_DDL)


def jar() -> Path:
    """Return a jar of the two functions, compiled against the installed PySpark unless the cache has it."""
    from leadsman.java import runtime  # only for remote captures
    from leadsman.pipeline.spark.jvm import spark_home

    classes = runtime.compile_source(JAVA, sorted((spark_home() / "jars").glob("*.jar")))
    target = classes / "remote-files.jar"
    if not target.exists():
        part = classes / f".{os.getpid()}.jar"
        with zipfile.ZipFile(part, "w") as archive:
            for path in sorted(classes.rglob("*.class")):
                archive.write(path, path.relative_to(classes))
        part.replace(target)
    return target
