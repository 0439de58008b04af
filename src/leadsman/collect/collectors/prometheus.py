"""Metrics: one scrape of an exporter, or range queries to a Prometheus server."""

from __future__ import annotations

import base64
import shlex
import time
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from http.client import HTTPException
from typing import TYPE_CHECKING
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlencode, urlsplit, urlunsplit
from urllib.request import Request, urlopen

import click

from leadsman.collect.collector import Collector, NotCollected, Probe
from leadsman.collect.durations import DurationParam
from leadsman.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

REQUEST_TIMEOUT = timedelta(seconds=60)
MAX_RESPONSE_BYTES = 256 << 20

NAMES = (
    "kafka_server_replicamanager_(produceridcount|partitioncount|leadercount|offlinereplicacount).*",
    "kafka_server_replicamanager_under(replicatedpartitions|minisrpartitioncount).*",
    "kafka_controller_kafkacontroller_(global|offline)(topics?|partitions?)count.*",
    "kafka_controller_kafkacontroller_(active|fenced)(broker|controller)count.*",
    "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_?percent.*",
    "kafka_network_socketserver_networkprocessoravgidle_?percent.*",
    "jvm_memory_(bytes_)?(used|max|committed)(_bytes)?",
    "jvm_gc_collection_seconds_(sum|count)",
)
STEAL_TIME = (
    'label_replace(avg by (instance, mode) ({__name__=~"node_cpu(_seconds_total)?",mode="steal"}), '
    '"__name__", "node_cpu_seconds_total", "", "")'
)
"""CPU steal as one series for each host; node_exporter has eight series for each processor. `avg` drops the name."""

QUERIES = (*(f'{{__name__=~"{names}"}}' for names in NAMES), STEAL_TIME)
"""Queries without --query: brokers, controllers, idle percentages and heaps, under the names of the JMX exporter's
usual lower-case rules; and the CPU steal of hosts."""


@contextmanager
def probes(
    *, url: str, query: tuple[str, ...], last: timedelta, step: timedelta, header: tuple[str, ...]
) -> Iterator[Iterable[Probe]]:
    """Yield one scrape for a URL with a path; range queries for a URL without a path, or with --query."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise UsageError(f"{url} is not an HTTP URL such as http://broker-1:7071/metrics or http://prometheus:9090")
    bare = urlunsplit(parts)
    if query or not parts.path.strip("/"):
        yield [
            _range_query(bare, each, number, last=last, step=step, headers=header)
            for number, each in enumerate(query or QUERIES, 1)
        ]
    else:
        yield [_scrape(bare, header)]


def _scrape(url: str, headers: tuple[str, ...]) -> Probe:
    return Probe(
        file=f"prometheus/{_host_in_file_name(url)}.txt",
        source="metrics",
        shell_command=f"curl -sS -f{_curl(headers)} {shlex.quote(url)}",
        read=partial(_response, url, headers),
        subject=urlsplit(url).netloc.rpartition("@")[2],
    )


def _range_query(
    url: str, query: str, number: int, *, last: timedelta, step: timedelta, headers: tuple[str, ...]
) -> Probe:
    endpoint = url.rstrip("/") + "/api/v1/query_range"
    seconds = round(last.total_seconds())
    parameters = f"--data-urlencode {shlex.quote(f'query={query}')} -d step={step.total_seconds():g}"
    times = f'-d "start=$(($(date +%s) - {seconds}))" -d "end=$(date +%s)"'
    return Probe(
        file=f"prometheus/{_host_in_file_name(url)}-{number}.txt",
        source="metrics",
        shell_command=f"curl -sS -f{_curl(headers)} -G {shlex.quote(endpoint)} {parameters} {times}",
        read=lambda: _response(f"{endpoint}?{_query_string(query, seconds, step)}", headers),
        subject=urlsplit(url).netloc.rpartition("@")[2],
        in_series=False,
    )


def read_range(url: str, query: str, *, since: int, until: int, step_seconds: int) -> str:
    """Return the response to a range query between two times (s since 1970). Raises NotCollected."""
    parameters = urlencode({"query": query, "start": since, "end": until, "step": step_seconds})
    return "".join(_response(f"{url.rstrip('/')}/api/v1/query_range?{parameters}", ()))


def _query_string(query: str, seconds: int, step: timedelta) -> str:
    now = int(time.time())
    return urlencode({"query": query, "start": now - seconds, "end": now, "step": f"{step.total_seconds():g}"})


def _host_in_file_name(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2].replace(":", "_")


def _curl(headers: tuple[str, ...]) -> str:
    return "".join(f" -H {shlex.quote(each)}" for each in headers)


def _response(url: str, headers: tuple[str, ...]) -> Iterator[str]:
    """Yield a response line by line. NotCollected holds the server's error message."""
    try:
        with urlopen(_request(url, headers), timeout=REQUEST_TIMEOUT.total_seconds()) as response:  # noqa: S310 - HTTP only, see probes
            left = MAX_RESPONSE_BYTES
            for line in response:
                left -= len(line)
                if left < 0:
                    raise NotCollected(
                        f"The response exceeds {MAX_RESPONSE_BYTES >> 20} MiB: query fewer metrics, or a shorter time"
                    )
                yield line.decode("utf-8", "replace")
    except HTTPError as error:
        message = " ".join(error.read(400).decode("utf-8", "replace").split())
        raise NotCollected(f"HTTP {error.code} {error.reason}: {message}") from error
    except (URLError, OSError, HTTPException) as error:
        raise NotCollected(
            f"{_host_in_file_name(url)} does not respond: {getattr(error, 'reason', None) or error}"
        ) from error


def _request(url: str, headers: tuple[str, ...]) -> Request:
    parts = urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    fields = dict(_parse_header(each) for each in headers)
    if user:
        fields["Authorization"] = "Basic " + base64.b64encode(unquote(user).encode()).decode()
    return Request(urlunsplit(parts._replace(netloc=host)), headers=fields)  # noqa: S310 - the same


def _parse_header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon:
        raise UsageError(f"--header takes NAME: VALUE, not {name!r}.")
    return name.strip(), value.strip()


COLLECTOR = Collector(
    title="Metrics: a scrape of an exporter, or range queries to a Prometheus server",
    help=(
        "Scrape an exporter (a URL with a path, such as http://broker-1:7071/metrics), or query a Prometheus server (a "
        "URL without a path) for the last hour of Kafka's main metrics, or for your own queries."
    ),
    parameters=(
        click.Argument(["url"]),
        click.Option(["--query"], multiple=True, metavar="PROMQL", help="Run this query instead; may be repeated."),
        click.Option(
            ["--last"],
            type=DurationParam(),
            default="1h",
            show_default=True,
            help="Time range of a query, back from now.",
        ),
        click.Option(["--step"], type=DurationParam(), default="30s", show_default=True, help="Resolution of a query."),
        click.Option(
            ["--header"],
            multiple=True,
            metavar="NAME: VALUE",
            help="HTTP header, such as Authorization; may be repeated.",
        ),
    ),
    probes=probes,
    examples=(
        "leadsman collect prometheus http://broker-1:7071/metrics --repeat 10s --for 5m",
        "leadsman collect prometheus http://prometheus:9090 --last 6h --step 1m",
        "leadsman collect prometheus http://prometheus:9090 --query 'rate(jvm_gc_collection_seconds_sum[5m])'",
    ),
)
