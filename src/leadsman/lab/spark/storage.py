"""Real remote storage on this machine: HDFS in one process, and an S3 server."""

from __future__ import annotations

import hmac
import http.client
import tempfile
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from leadsman.errors import LabError
from leadsman.java import jars, runtime
from leadsman.lab.processes.program import LOOPBACK, Program
from leadsman.lab.spark.cluster import START_TIMEOUT, free_port, wait_until_ready
from leadsman.pipeline.spark.jvm import spark_home

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BUCKET = "captures"

LOGGING = """<configuration><appender name="out" class="ch.qos.logback.core.ConsoleAppender"><encoder>
<pattern>%d %level %logger %msg%n</pattern></encoder></appender>
<root level="warn"><appender-ref ref="out"/></root></configuration>"""


@contextmanager
def hdfs(folder: Path) -> Iterator[str]:
    """Run a name node and a data node until the block ends; yield the URL of their root."""
    port, ready = free_port(), folder / "hdfs-site.xml"
    class_path = [*jars.fetch_jars("hdfs"), *sorted((spark_home() / "jars").glob("*.jar"))]
    options = [f"-Dtest.build.data={folder / 'data'}"]
    command = runtime.java_command(
        "org.apache.hadoop.test.MiniDFSClusterManager", class_path, heap_mb=400, options=options
    )
    command += ["-datanodes", "1", "-format", "-nnport", str(port), "-writeConfig", str(ready)]
    with _server("hdfs", command, folder) as program:
        wait_until_ready(lambda: ready.exists() and ready.stat().st_size > 0, program, folder / "hdfs.log")
        yield f"hdfs://{LOOPBACK}:{port}"


def put_into_hdfs(root: str, source: Path, target: str) -> None:
    """Copy a folder of this machine to HDFS, by Hadoop's own client."""
    with tempfile.TemporaryDirectory(prefix="leadsman-hdfs-") as name:
        folder = Path(name)
        (folder / "core-site.xml").write_text("<configuration/>")  # its shell insists on one
        class_path = [folder, *sorted((spark_home() / "jars").glob("*.jar"))]
        command = runtime.java_command("org.apache.hadoop.fs.FsShell", class_path, heap_mb=256)
        with _server("put", [*command, "-put", str(source), f"{root}{target}"], folder) as program:
            if code := program.wait_for_exit(timeout=START_TIMEOUT):
                log_end = (folder / "put.log").read_text(errors="replace")[-1000:]
                raise LabError(f"Copying {source} to {root}{target} ended with code {code}: {log_end}")


@dataclass(frozen=True, slots=True)
class S3:
    """A running server: its endpoint and its credentials."""

    endpoint: str
    key: str
    secret: str

    @property
    def settings(self) -> dict[str, str]:
        """The Spark settings to read from it; any S3 that is not Amazon's needs them."""
        return {
            "spark.hadoop.fs.s3a.endpoint": self.endpoint,
            "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.hadoop.fs.s3a.access.key": self.key,
            "spark.hadoop.fs.s3a.secret.key": self.secret,
        }


@contextmanager
def s3(folder: Path) -> Iterator[S3]:
    """Run a server of S3 with one empty bucket until the block ends."""
    server = S3(f"http://{LOOPBACK}:{free_port()}", "leadsman-test", "only-on-loopback")
    settings = {
        "s3proxy.endpoint": server.endpoint,
        "s3proxy.authorization": "aws-v2-or-v4",
        "s3proxy.identity": server.key,
        "s3proxy.credential": server.secret,
        "jclouds.provider": "filesystem-nio2",
        "jclouds.filesystem.basedir": str(folder / "buckets"),
        "jclouds.identity": "unused",
        "jclouds.credential": "unused",
    }
    (folder / "buckets" / BUCKET).mkdir(parents=True)
    (folder / "logback.xml").write_text(LOGGING)
    properties = folder / "s3proxy.properties"
    properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    command = runtime.java_command("org.gaul.s3proxy.Main", [folder, *jars.fetch_jars("s3proxy")], heap_mb=300)
    with _server("s3proxy", [*command, "--properties", str(properties)], folder) as program:
        wait_until_ready(lambda: _is_answering(server.endpoint), program, folder / "s3proxy.log")
        yield server


def put_into_s3(server: S3, source: Path, prefix: str) -> None:
    """Copy a folder's files into the bucket below a prefix, by the S3 API."""
    with closing(http.client.HTTPConnection(urlsplit(server.endpoint).netloc, timeout=60)) as connection:
        for path in sorted(path for path in source.rglob("*") if path.is_file()):
            _put(connection, server, f"{prefix}/{path.relative_to(source).as_posix()}", content=path.read_bytes())


def _put(connection: http.client.HTTPConnection, server: S3, key: str, *, content: bytes) -> None:
    path = quote(f"/{BUCKET}/{key}")
    connection.request("PUT", path, content, _signed_headers(server, path, content))
    response = connection.getresponse()
    if (text := response.read()) or response.status != HTTPStatus.OK:
        raise LabError(f"Putting {path} was answered with {response.status}: {text[:300]!r}")


def _signed_headers(server: S3, path: str, content: bytes) -> dict[str, str]:
    """Return the headers of a request to put an object, signed by Amazon's version 4."""
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    scope = f"{now[:8]}/us-east-1/s3/aws4_request"
    headers = {
        "host": urlsplit(server.endpoint).netloc,
        "x-amz-content-sha256": sha256(content).hexdigest(),
        "x-amz-date": now,
    }
    names = ";".join(headers)
    lines = [f"{name}:{value}" for name, value in headers.items()]
    request = "\n".join(["PUT", path, "", *lines, "", names, headers["x-amz-content-sha256"]])
    string_to_sign = "\n".join(["AWS4-HMAC-SHA256", now, scope, sha256(request.encode()).hexdigest()])
    key = f"AWS4{server.secret}".encode()
    for part in (*scope.split("/"), string_to_sign):
        key = hmac.digest(key, part.encode(), "sha256")
    credential = f"Credential={server.key}/{scope}, SignedHeaders={names}, Signature={key.hex()}"
    return {**headers, "Authorization": f"AWS4-HMAC-SHA256 {credential}"}


def _is_answering(endpoint: str) -> bool:
    connection = http.client.HTTPConnection(urlsplit(endpoint).netloc, timeout=5)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status > 0
    except OSError:
        return False
    finally:
        connection.close()


@contextmanager
def _server(name: str, command: Sequence[str], folder: Path) -> Iterator[Program]:
    log = folder / f"{name}.log"
    with Program.start(name, command, folder=folder, errors=log, output=log) as program:
        yield program
