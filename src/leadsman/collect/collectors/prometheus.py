"""Metrics: one scrape of an exporter, or range queries to a Prometheus server."""

from __future__ import annotations

import base64
import re
import shlex
import time
from codecs import getincrementaldecoder
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from http.client import HTTPException, IncompleteRead
from ssl import SSLError
from typing import TYPE_CHECKING
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlencode, urlsplit, urlunsplit
from urllib.request import Request, build_opener

import click

from leadsman.collect.collector import Collector, Probe, Unusable
from leadsman.collect.durations import DurationParam
from leadsman.errors import UsageError
from leadsman.redirects import NoRedirects
from leadsman.waiting import items_within

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from urllib.parse import SplitResult

REQUEST_TIMEOUT = timedelta(seconds=60)
"""Of a server's silence."""

RESPONSE_TIMEOUT = timedelta(minutes=3)
"""Of a whole response. Prometheus ends a query after two minutes."""

MAX_RESPONSE_BYTES = 256 << 20
PIECE_BYTES = 4 << 20
"""Of a response: the answer to a query is one line, which is put together again of its pieces."""

CHARACTERS_QUOTED = 80
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")

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
    parts = _parts(url)
    for each in header:
        _parse_header(each)
    bare = urlunsplit(parts)
    if query or not parts.path.strip("/"):
        yield [
            _range_query(bare, each, number, last=last, step=step, headers=header)
            for number, each in enumerate(query or QUERIES, 1)
        ]
    else:
        yield [_scrape(bare, header)]


def _parts(url: str) -> SplitResult:
    """Return the parts of an HTTP URL. UsageError for any other, and for one with a wrong port or a space."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        is_complete = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:  # brackets or a port that are none
        is_complete = False
    if not is_complete or not url.isprintable() or " " in url:
        raise UsageError(f"{url} is not an HTTP URL such as http://broker-1:7071/metrics or http://prometheus:9090")
    return parts


def _scrape(url: str, headers: tuple[str, ...]) -> Probe:
    return Probe(
        file=f"prometheus/{_host_in_file_name(url)}.txt",
        source="metrics",
        shell_command=f"curl -sS -f{_curl(headers)} {shlex.quote(url)}",
        read=partial(_response, url, headers),
        subject=_address(url),
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
        subject=_address(url),
        in_series=False,
    )


def read_range(url: str, query: str, *, since: int, until: int, step_seconds: int) -> str:
    """Return the response to a range query between two times (s since 1970). Raises NotCollected."""
    parameters = urlencode({"query": query, "start": since, "end": until, "step": step_seconds})
    return "".join(_response(f"{url.rstrip('/')}/api/v1/query_range?{parameters}", ()))


def _query_string(query: str, seconds: int, step: timedelta) -> str:
    now = int(time.time())
    return urlencode({"query": query, "start": now - seconds, "end": now, "step": f"{step.total_seconds():g}"})


def _address(url: str) -> str:
    """Return HOST:PORT of a URL."""
    return urlsplit(url).netloc.rpartition("@")[2]


def _host_in_file_name(url: str) -> str:
    return _address(url).replace(":", "_")


def _curl(headers: tuple[str, ...]) -> str:
    return "".join(f" -H {shlex.quote(each)}" for each in headers)


def _response(url: str, headers: tuple[str, ...]) -> Iterator[str]:
    """Yield a response in pieces. Unusable holds the reason, such as the server's error message."""
    try:
        yield from items_within(partial(_pieces, url, headers), timeout=RESPONSE_TIMEOUT)
    except TimeoutError as error:
        seconds = RESPONSE_TIMEOUT.total_seconds()
        raise Unusable(f"The response of {_address(url)} takes longer than {seconds:g} s") from error


def _pieces(url: str, headers: tuple[str, ...]) -> Iterator[str]:
    left = MAX_RESPONSE_BYTES
    decoder = getincrementaldecoder("utf-8")("replace")
    opener = build_opener(NoRedirects)
    try:
        with opener.open(_request(url, headers), timeout=REQUEST_TIMEOUT.total_seconds()) as response:
            while piece := response.read(PIECE_BYTES):
                left -= len(piece)
                if left < 0:
                    raise Unusable(
                        f"The response exceeds {MAX_RESPONSE_BYTES >> 20} MiB: query fewer metrics, or a shorter time"
                    )
                yield decoder.decode(piece)
            if response.length:  # of a chunked response `read` raises it
                raise IncompleteRead(b"", response.length)
    except HTTPError as error:
        with error:
            raise Unusable(_refusal(error)) from error
    except (OSError, HTTPException, ValueError) as error:
        raise Unusable(f"{_address(url)} {_failure(error)}") from error


def _refusal(error: HTTPError) -> str:
    if error.code in range(300, 400):
        return f"HTTP {error.code}: redirects are not followed. Give the new URL: {error.headers.get('Location')}"
    message = " ".join(error.read(400).decode("utf-8", "replace").split())
    return f"HTTP {error.code} {error.reason}: {message}"


def _failure(error: Exception) -> str:
    """Return what the server did instead of answering, as the end of a sentence."""
    cause = error.reason if isinstance(error, URLError) and isinstance(error.reason, Exception) else error
    match cause:
        case TimeoutError():
            return f"does not respond within {REQUEST_TIMEOUT.total_seconds():g} s"
        case ConnectionError() if not isinstance(cause, ConnectionRefusedError):
            return "closes the connection without a response in HTTP: it is no HTTP server, or expects https://"
        case IncompleteRead():
            return "closes the connection in the middle of the response"
        case SSLError():
            why = getattr(cause, "verify_message", "") or cause.reason or cause
            return f"accepts connections, but the TLS handshake fails: {why}"
        case HTTPException() | ValueError():
            return f"answers, but not in HTTP: {' '.join(str(cause).split())[:CHARACTERS_QUOTED]}"
    return f"does not respond: {cause}"


def _request(url: str, headers: tuple[str, ...]) -> Request:
    parts = urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    fields = dict(_parse_header(each) for each in headers)
    if user:
        fields["Authorization"] = "Basic " + base64.b64encode(unquote(user).encode()).decode()
    return Request(urlunsplit(parts._replace(netloc=host)), headers=fields)  # noqa: S310 - the same


def _parse_header(text: str) -> tuple[str, str]:
    """Return a header's name and value. UsageError, which quotes no value, where a server could not read them."""
    name, colon, value = (each.strip() for each in text.partition(":"))
    if not colon or not HEADER_NAME.fullmatch(name) or not value.isprintable() or not value.isascii():
        raise UsageError(f"--header takes NAME: VALUE in one line of ASCII characters, not {name!r}.")
    return name, value


COLLECTOR = Collector(
    title="Metrics of an exporter, or queries to a Prometheus server",
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
