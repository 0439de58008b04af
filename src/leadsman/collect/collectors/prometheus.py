"""Metrics: what an exporter exposes now, or what a Prometheus server has kept of them."""

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

from leadsman.collect.collector import Collector, CouldNotBeHad, Probe
from leadsman.collect.span import Span
from leadsman.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ANSWER_WITHIN = timedelta(seconds=60)
LARGEST_BYTES = 256 << 20

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
STOLEN = (
    'label_replace(avg by (instance, mode) ({__name__=~"node_cpu(_seconds_total)?",mode="steal"}), '
    '"__name__", "node_cpu_seconds_total", "", "")'
)
"""One series a host, where each processor has eight of its own. An average would lose its name."""

QUERIES = (*(f'{{__name__=~"{names}"}}' for names in NAMES), STOLEN)
"""What a server is asked when nothing is said: brokers, controllers, idle shares and heaps, under the names that the
JMX exporter gives with its usual lower-case rules; and the time that hosts' processors were kept from running."""


@contextmanager
def probes(
    *, url: str, query: tuple[str, ...], last: timedelta, step: timedelta, header: tuple[str, ...]
) -> Iterator[Iterable[Probe]]:
    """Yield a scrape for a URL with a path, and range queries for a server or where they are given."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise UsageError(f"{url} is no HTTP URL such as http://broker-1:7071/metrics or http://prometheus:9090")
    bare = urlunsplit(parts)
    if query or not parts.path.strip("/"):
        yield [
            _range(bare, each, number, last=last, step=step, headers=header)
            for number, each in enumerate(query or QUERIES, 1)
        ]
    else:
        yield [_scrape(bare, header)]


def _scrape(url: str, headers: tuple[str, ...]) -> Probe:
    return Probe(
        file=f"prometheus/{_named(url)}.txt",
        source="metrics",
        typed=f"curl -sS -f{_curl(headers)} {shlex.quote(url)}",
        take=partial(_answer, url, headers),
        subject=urlsplit(url).netloc.rpartition("@")[2],
    )


def _range(url: str, query: str, number: int, *, last: timedelta, step: timedelta, headers: tuple[str, ...]) -> Probe:
    ask = url.rstrip("/") + "/api/v1/query_range"
    seconds = round(last.total_seconds())
    words = f"--data-urlencode {shlex.quote(f'query={query}')} -d step={step.total_seconds():g}"
    times = f'-d "start=$(($(date +%s) - {seconds}))" -d "end=$(date +%s)"'
    return Probe(
        file=f"prometheus/{_named(url)}-{number}.txt",
        source="metrics",
        typed=f"curl -sS -f{_curl(headers)} -G {shlex.quote(ask)} {words} {times}",
        take=lambda: _answer(f"{ask}?{_asked(query, seconds, step)}", headers),
        subject=urlsplit(url).netloc.rpartition("@")[2],
        again=False,
    )


def _asked(query: str, seconds: int, step: timedelta) -> str:
    now = int(time.time())
    return urlencode({"query": query, "start": now - seconds, "end": now, "step": f"{step.total_seconds():g}"})


def _named(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2].replace(":", "_")


def _curl(headers: tuple[str, ...]) -> str:
    return "".join(f" -H {shlex.quote(each)}" for each in headers)


def _answer(url: str, headers: tuple[str, ...]) -> Iterator[str]:
    """Yield an answer line by line; what a server says of an error is the reason."""
    try:
        with urlopen(_request(url, headers), timeout=ANSWER_WITHIN.total_seconds()) as answer:  # noqa: S310 - HTTP only, see probes
            left = LARGEST_BYTES
            for line in answer:
                left -= len(line)
                if left < 0:
                    raise CouldNotBeHad(f"The answer is larger than {LARGEST_BYTES >> 20} MiB: ask for less")
                yield line.decode("utf-8", "replace")
    except HTTPError as error:
        said = " ".join(error.read(400).decode("utf-8", "replace").split())
        raise CouldNotBeHad(f"HTTP {error.code} {error.reason}: {said}") from error
    except (URLError, OSError, HTTPException) as error:
        raise CouldNotBeHad(f"{_named(url)} does not answer: {getattr(error, 'reason', None) or error}") from error


def _request(url: str, headers: tuple[str, ...]) -> Request:
    parts = urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    told = dict(_header(each) for each in headers)
    if user:
        told["Authorization"] = "Basic " + base64.b64encode(unquote(user).encode()).decode()
    return Request(urlunsplit(parts._replace(netloc=host)), headers=told)  # noqa: S310 - the same


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon:
        raise UsageError(f"--header takes NAME: VALUE, not {name!r}.")
    return name.strip(), value.strip()


COLLECTOR = Collector(
    title="Metrics: a scrape of an exporter, or what a Prometheus server has kept",
    help=(
        "Scrape an exporter (a URL with a path, such as http://broker-1:7071/metrics), or ask a Prometheus server (a "
        "URL without) for the last hour of the metrics that matter, or for your own queries."
    ),
    parameters=(
        click.Argument(["url"]),
        click.Option(["--query"], multiple=True, metavar="PROMQL", help="Ask for this instead; may be repeated."),
        click.Option(["--last"], type=Span(), default="1h", show_default=True, help="How far back to ask a server."),
        click.Option(["--step"], type=Span(), default="30s", show_default=True, help="How fine."),
        click.Option(
            ["--header"], multiple=True, metavar="NAME: VALUE", help="Such as an Authorization; may be repeated."
        ),
    ),
    probes=probes,
    examples=(
        "leadsman collect prometheus http://broker-1:7071/metrics --repeat 10s --for 5m",
        "leadsman collect prometheus http://prometheus:9090 --last 6h --step 1m",
        "leadsman collect prometheus http://prometheus:9090 --query 'rate(jvm_gc_collection_seconds_sum[5m])'",
    ),
)
