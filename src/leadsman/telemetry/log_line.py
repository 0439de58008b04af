"""Splits a log line into level, logger and message; and names the kind of an error."""

from __future__ import annotations

import json
import re
import string
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LEVEL = r"TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE|[tdiwef](?:race|ebug|nfo|arn|rror|atal)"
MAX_LENGTH = 2000  # characters that are looked at: what shows the kind of an error is at the beginning
MAX_MESSAGE = 300

EXCEPTION = re.compile(r"(?<![\w.$])((?:[\w$]+\.)*[A-Z][\w$]*(?:Exception|Error))\b(?!Handler)")
# every match of EXCEPTION ends so, and has only such characters
EXCEPTION_END = re.compile("Exception|Error")
NAME_CHARACTERS = f"{string.ascii_letters}{string.digits}_.$"
TRACE_EXCEPTION = re.compile(
    r"[ \t]*(?:Caused by: |Suppressed: |Exception in thread \"[^\"\n]*\" )?"
    r"((?:[\w$]+\.)*[A-Z][\w$]*(?:Exception|Error|Interrupt|NoBrokersAvailable))(?::|$)"
)
TRACEBACK = "Traceback (most recent call last):"
WRAPPERS = frozenset(
    {
        "CompletionException",
        "Exception",
        "ExecutionException",
        "InvocationTargetException",
        "IOException",
        "KafkaException",
        "KafkaProducerException",
        "ListenerExecutionFailedException",
        "RuntimeException",
        "StreamsException",
        "UncheckedIOException",
        "UndeclaredThrowableException",
    }
)
"""Exceptions that only wrap another one, which says more."""

KAFKA_PREFIXES = ("org.apache.kafka.", "kafka.errors.", "aiokafka.errors.", "java.lang.OutOfMemoryError")
MAX_KIND = 100
CODE = re.compile(r"KafkaError\{code=(\w+)")
# [2021-02-16 12:36:02,123] ERROR message (kafka.server.X)
BROKER = re.compile(rf"\[[^\]]{{19,40}}\] (?P<level>{LEVEL}) (?P<message>.*?)(?: \((?P<logger>[\w.$-]+)\))?$")
COLLECTOR_PREFIX = re.compile(
    r"\d{13}[\t ]"  # aws logs get-log-events --output text
    r"|[^ \t]+ \d{4}/\d\d/\d\d/\[[^\]\s]*\][\da-f]{32} "  # aws logs tail
    r"|\d{4}-\d\d-\d\dT[^ \t]+ std(?:out|err) [FP](?::\w+)* "  # Kubernetes CRI
    r"|(?:<\d{1,3}>)?[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)? [^ \t]+ [^\s:\[\]]+(?:\[\d+\])?: "  # syslog
)
"""What collectors put before a line: they do not make it another error."""
# %3|1613433600.123|FAIL|rdkafka#producer-1| message
LIBRDKAFKA = re.compile(r".{0,80}?%(?P<severity>[0-7])\|\d+\.\d+\|(?P<logger>\w+)\|[^|]*\| ?(?P<message>.*)$")
# 2021-02-16 12:36:02,123 - kafka.conn - ERROR - message
DASHES = re.compile(rf"[\d:,.TZ +-]{{19,40}} - (?P<logger>[\w.-]+) - (?P<level>{LEVEL}) - (?P<message>.*)$")
# ERROR:kafka.conn:message
COLONS = re.compile(rf"(?:[\d:,.TZ +-]{{19,40}} )?(?P<level>{LEVEL}):(?P<logger>[\w.-]+):(?P<message>.*)$")
# 2021-02-16 12:36:02.123 ERROR 1 --- [main] logger : message, 12:36:02 [thread] ERROR logger - message, and the like
AFTER_LEVEL = (
    r"(?:\d+ --- )?(?:\[[^\]\n]{0,80}\] ?)*"
    r"(?:(?P<logger>[\w$]+(?:[.:][\w$]+)+|[\w.$]+(?= +[:-] )) *[:-]? +)?"
)
GENERIC = re.compile(
    rf"(?:(?!{LEVEL})\S+ +){{0,4}}?(?:\[[^\]\n]{{0,80}}\] +)?\[?(?P<level>{LEVEL})\]?:? +{AFTER_LEVEL}"
    "(?P<message>.*)$"
)
# [ERROR]	2020-12-20T12:00:00.123Z	<request id>	message: Lambda, in any order of the first three
TABS = re.compile(
    rf"[^\t]*(?:\t[^\t]*)?\t(?:[0-9a-f-]{{36}})\t(?:(?P<level>{LEVEL})\t(?:(?P<logger>[\w.$]+)\t)?)?(?P<message>.*)$"
)
LAMBDA_PYTHON = re.compile(rf"(?:\S+Z )?\[(?P<level>{LEVEL})\]\t[^\t]*\t[0-9a-f-]{{36}}\t(?P<message>.*)$")
LOGFMT = re.compile(rf".{{0,60}}?level=(?P<level>{LEVEL}) (?:.{{0,80}}? )?msg=(?P<message>.*)$")
LAYOUTS = (
    ("%", LIBRDKAFKA),
    ("[", BROKER),
    ("\t", LAMBDA_PYTHON),
    ("\t", TABS),
    ("level=", LOGFMT),
    (" - ", DASHES),
    (":", COLONS),
    ("", GENERIC),
)
"""Layouts, each with a text that every such line has: looking for that first rules out most layouts at once."""

CACHED_LINES = 64
"""Lines whose parts are cached: callers need kind, message and level of an error one after the other."""
SYSLOG_LEVELS = ("FATAL", "FATAL", "FATAL", "ERROR", "WARN", "NOTICE", "INFO", "DEBUG")

HEX_AS_ZERO = bytes.maketrans(b"123456789abcdef", b"0" * 15)


def _can_hold_hex(text: str) -> bool:
    """Whether a text can have eight hexadecimal digits in a row, or some behind `0x` or `@`. Digits become zeros."""
    zeros = text.encode("utf-8", "surrogatepass").translate(HEX_AS_ZERO)
    return b"00000000" in zeros or "0x" in text or b"@0000" in zeros


VARIABLE_PARTS: tuple[tuple[Callable[[str], object], re.Pattern[str], str], ...] = (
    (
        re.compile(r"-[0-9a-fA-F]{4}-").search,
        re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"),
        "<id>",
    ),
    (re.compile(r"\.\d").search, re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b"), "<address>"),
    (re.compile(r":\d\d").search, re.compile(r"\b[\w-]+(?:\.[\w-]+)+:\d{2,5}\b"), "<address>"),
    (lambda text: "'" in text or '"' in text, re.compile(r"'[^'\n]{1,200}'|\"[^\"\n]{1,200}\""), "<text>"),
    (
        _can_hold_hex,
        re.compile(r"\b0x[0-9a-fA-F]+\b|\b(?=[a-f]*\d)[0-9a-f]{8,}\b|@[0-9a-f]{4,16}\b"),
        "<hex>",
    ),
    (re.compile(r"\d").search, re.compile(r"\d+(?:[.,]\d+)*"), "<n>"),
)
"""Texts that differ between two errors of one kind, and what replaces them. The first of each is a quick check whether
the pattern can match: it takes a tenth of the time."""


class LineParts(NamedTuple):
    """The parts of a log line. Level and logger are empty where the line has none."""

    level: str
    logger: str
    message: str


@lru_cache(CACHED_LINES)
def split_line(line: str) -> LineParts:
    """Split a line of any of the usual layouts, which may stand behind what a collector puts before each line."""
    line = line[:MAX_LENGTH].split("\n", 1)[0]
    begin = _begin(line)
    if line.startswith("{", begin):
        return _json_parts(line[begin:])
    match = match_layout(line)
    if match is None:
        return LineParts("", "", line[begin:].strip())
    return LineParts(level_of(match), match.groupdict().get("logger") or "", match["message"].strip())


def match_layout(line: str) -> re.Match[str] | None:
    """Return the match of the first layout of a line, with a group `message`; None where it has none, or is JSON."""
    begin = _begin(line)
    if line.startswith("{", begin):
        return None
    matches = (layout.match(line, begin) for required, layout in LAYOUTS if required in line)
    return next(filter(None, matches), None)


def _begin(line: str) -> int:
    """Return where the line begins that its program wrote."""
    prefix = COLLECTOR_PREFIX.match(line)
    return 0 if prefix is None else prefix.end()


def level_of(match: re.Match[str]) -> str:
    """Return the level on a line of which a layout matched; empty where it has none."""
    groups = match.groupdict()
    severity = groups.get("severity")
    return (groups.get("level") or (SYSLOG_LEVELS[int(severity)] if severity else "")).upper()


def _json_parts(line: str) -> LineParts:
    return LineParts(
        _json_text(line, r"(?:log\.)?(?:level|severity|levelname)").upper(),
        _json_text(line, r"logger|logger_name|log\.logger|name"),
        _json_text(line, r"message|msg|log") or line,
    )


def _json_text(line: str, keys: str) -> str:
    """Return the text under one of these keys, without parsing the whole line: it may be cut."""
    match = re.search(rf'"(?:{keys})"\s*:\s*"((?:[^"\\]|\\.)*)', line)
    if not match:
        return ""
    try:
        return str(json.loads(f'"{match[1]}"', strict=False))
    except ValueError:
        return match[1]


def error_kind(lines: Sequence[str], message: str | None = None) -> str:
    """Return the kind of an error: its exception, else its error code, else its message without the variable parts.

    `lines` are the lines of one record on which errors were matched, in order. Of a Java trace the outer exception
    counts, unless it only wraps its cause; of a Python traceback the last one, which was raised. `message` is what
    `normalise` makes of the first line, if that is known.
    """
    first = lines[0][:MAX_LENGTH]
    code = CODE.search(first)
    if code:
        return f"KafkaError {code[1]}"
    own = first_exception(first)
    below = [match[1] for line in lines[1:] if (match := TRACE_EXCEPTION.match(line[:MAX_LENGTH]))]
    if below and any(line.startswith(TRACEBACK) or line.endswith(TRACEBACK) for line in lines):
        return below[-1]
    outer = own[1] if own else next(iter(below), "")
    if outer.rpartition(".")[2] in WRAPPERS:
        return below[-1] if below and below[-1] != outer else _with_message(outer, lines)
    return outer or (normalise(first) if message is None else message)[:MAX_KIND] or "error"


def first_exception(text: str) -> re.Match[str] | None:
    """Return the first match of EXCEPTION, which takes long to try at each character: at names that end as it does."""
    if not text.isascii():
        return EXCEPTION.search(text)
    begins = (len(text[: end.start()].rstrip(NAME_CHARACTERS)) for end in EXCEPTION_END.finditer(text))
    return next(filter(None, (EXCEPTION.match(text, begin) for begin in dict.fromkeys(begins))), None)


def _with_message(wrapper: str, lines: Sequence[str]) -> str:
    """Return a general exception with its message, because its name alone says little."""
    line = next((line for line in lines if f"{wrapper}: " in line), "")
    message = normalise(line.partition(f"{wrapper}: ")[2])
    return f"{wrapper}: {message}"[:MAX_KIND] if message else wrapper


def kafka_error(text: str) -> str:
    """Return the Kafka error that a line names; empty where it names none, or only a wrapper."""
    code = CODE.search(text[:MAX_LENGTH])
    if code:
        return f"KafkaError {code[1]}"
    names = (match[1] for match in EXCEPTION.finditer(text[:MAX_LENGTH]))
    return next(
        (name for name in names if name.startswith(KAFKA_PREFIXES) and name.rpartition(".")[2] not in WRAPPERS), ""
    )


@lru_cache(CACHED_LINES)
def normalise(text: str) -> str:
    """Return the message without its variable parts: numbers, ids, addresses, quoted texts."""
    return _without_variable_parts(split_line(text).message)


def _without_variable_parts(message: str) -> str:
    message = message[:MAX_MESSAGE]
    for can_match, pattern, placeholder in VARIABLE_PARTS:
        if can_match(message):
            message = pattern.sub(placeholder, message)
    return message


class ErrorKey(NamedTuple):
    """What one-line errors are grouped by, and the level of the line."""

    kind: str
    message: str
    level: str


def one_line_error(line: str) -> ErrorKey:
    """Return kind, normalised message and level of an error on one line of MAX_LENGTH characters at most.

    They are those of `error_kind`, `normalise` and `split_line`; a line that names no exception is split once for all.
    """
    parts = split_line(line)
    message = _without_variable_parts(parts.message)
    return ErrorKey(one_line_kind(line, message), message, parts.level)


def one_line_kind(line: str, message: str) -> str:
    """Return the kind of an error on one line of MAX_LENGTH characters at most, given its normalised message."""
    names_error = "Exception" in line or "Error" in line
    return error_kind([line], message) if names_error else message[:MAX_KIND] or "error"
