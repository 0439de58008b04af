"""Real storage on this machine for captures that lie elsewhere: HDFS in one process, and a server of S3."""

from __future__ import annotations

import http.client
import os
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from leadsman import jars, java
from leadsman.errors import LabError
from leadsman.lab.process import LOOPBACK, Program
from leadsman.lab.spark_cluster import free_port
from leadsman.pipeline.jvm import spark_home
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

START = timedelta(minutes=2)
BUCKET = "captures"

LOGGING = """<configuration><appender name="out" class="ch.qos.logback.core.ConsoleAppender"><encoder>
<pattern>%d %level %logger %msg%n</pattern></encoder></appender>
<root level="warn"><appender-ref ref="out"/></root></configuration>"""


@contextmanager
def hdfs(folder: Path) -> Iterator[str]:
    """Run a name node and a data node until the block ends; yield the URL of their root."""
    port, ready = free_port(), folder / "hdfs-site.xml"
    class_path = [*jars.fetch("hdfs"), *sorted((spark_home() / "jars").glob("*.jar"))]
    options = [f"-Dtest.build.data={folder / 'data'}"]
    words = java.command("org.apache.hadoop.test.MiniDFSClusterManager", class_path, heap_mb=400, options=options)
    words += ["-datanodes", "1", "-format", "-nnport", str(port), "-writeConfig", str(ready)]
    with _server("hdfs", words, folder) as program:
        _wait(lambda: ready.exists() and ready.stat().st_size > 0, program, folder / "hdfs.log")
        yield f"hdfs://{LOOPBACK}:{port}"


def put_into_hdfs(root: str, source: Path, target: str) -> None:
    """Copy a folder of this machine to HDFS, by Hadoop's own client."""
    session = java.command("org.apache.hadoop.fs.FsShell", sorted((spark_home() / "jars").glob("*.jar")), heap_mb=256)
    Program.start  # noqa: B018
    _run([*session, "-fs", root, "-put", str(source), target], source.parent)


@dataclass(frozen=True, slots=True)
class S3:
    """A running server: where it is, and who may read."""

    endpoint: str
    key: str
    secret: str

    @property
    def settings(self) -> dict[str, str]:
        """What Spark has to be told to read from it; any S3 that is not Amazon's is set up so."""
        return {
            "spark.hadoop.fs.s3a.endpoint": self.endpoint,
            "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.hadoop.fs.s3a.access.key": self.key,
            "spark.hadoop.fs.s3a.secret.key": self.secret,
        }
