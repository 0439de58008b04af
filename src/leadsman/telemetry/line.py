"""Takes one log line apart: level, logger, message; and blanks what differs between two errors of one kind."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

LEVEL = r"TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE|[tdiwef](?:race|ebug|nfo|arn|rror|atal)"
LONGEST = 2000  # characters that are looked at: what tells an error's kind stands early
LONGEST_MESSAGE = 300

EXCEPTION = re.compile(r"(?<![\w.$])((?:[\w$]+\.)*[A-Z][\w$]*(?:Exception|Error))\b(?!Handler)")
IN_TRACE = re.compile(
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
"""Exceptions that only carry another: the cause says more."""

OF_KAFKA = ("org.apache.kafka.", "kafka.errors.", "aiokafka.errors.", "java.lang.OutOfMemoryError")
LONGEST_KIND = 100
CODE = re.compile(r"KafkaError\{code=(\w+)")
# [2021-02-16 12:36:02,123] ERROR message (kafka.server.X)
BROKER = re.compile(rf"\[[^\]]{{19,40}}\] (?P<level>{LEVEL}) (?P<message>.*?)(?: \((?P<logger>[\w.$-]+)\))?$")
# %3|1613433600.123|FAIL|rdkafka#producer-1| message
LIBRDKAFKA = re.compile(r".{0,80}?%(?P<severity>\d)\|\d+\.\d+\|(?P<logger>\w+)\|[^|]*\| ?(?P<message>.*)$")
# 2021-02-16 12:36:02,123 - kafka.conn - ERROR - message
DASHES = re.compile(rf"[\d:,.TZ +-]{{19,40}} - (?P<logger>[\w.-]+) - (?P<level>{LEVEL}) - (?P<message>.*)$")
# ERROR:kafka.conn:message
COLONS = re.compile(rf"(?:[\d:,.TZ +-]{{19,40}} )?(?P<level>{LEVEL}):(?P<logger>[\w.-]+):(?P<message>.*)$")
# 2021-02-16 12:36:02.123 ERROR 1 --- [main] logger : message, 12:36:02 [thread] ERROR logger - message, and the like
USUAL = re.compile(
    rf"(?:(?!{LEVEL})\S+ +){{0,4}}?(?:\[[^\]\n]{{0,80}}\] +)?\[?(?P<level>{LEVEL})\]?:? +(?:\d+ --- )?"
    r"(?:\[[^\]\n]{0,80}\] ?)*(?:(?P<logger>[\w$]+(?:[.:][\w$]+)+|[\w.$]+(?= +[:-] )) *[:-]? +)?(?P<message>.*)$"
)
# [ERROR]	2020-12-20T12:00:00.123Z	<request id>	message: Lambda, in any order of the first three
TABS = re.compile(
    rf"[^\t]*(?:\t[^\t]*)?\t(?:[0-9a-f-]{{36}})\t(?:(?P<level>{LEVEL})\t(?:(?P<logger>[\w.$]+)\t)?)?(?P<message>.*)$"
)
LAMBDA_PYTHON = re.compile(rf"(?:\S+Z )?\[(?P<level>{LEVEL})\]\t[^\t]*\t[0-9a-f-]{{36}}\t(?P<message>.*)$")
LOGFMT = re.compile(rf".{{0,60}}?level=(?P<level>{LEVEL}) (?:.{{0,80}}? )?msg=(?P<message>.*)$")
FORMS = (
    ("%", LIBRDKAFKA),
    ("[", BROKER),
    ("\t", LAMBDA_PYTHON),
    ("\t", TABS),
    ("level=", LOGFMT),
    (" - ", DASHES),
    (":", COLONS),
    ("", USUAL),
)
"""Layouts, each with a text without which a line is none of it: most are ruled out at once."""

TAKEN_APART = 64
"""Lines whose parts are remembered: kind, message and level of an error are asked for one after the other."""
SYSLOG_LEVELS = ("FATAL", "FATAL", "FATAL", "ERROR", "WARN", "NOTICE", "INFO", "DEBUG")

BLANKS = (
    (
        re.compile(r"-[0-9a-fA-F]{4}-"),
        re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"),
        "<id>",
    ),
    (re.compile(r"\.\d"), re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b"), "<address>"),
    (re.compile(r":\d\d"), re.compile(r"\b[\w-]+(?:\.[\w-]+)+:\d{2,5}\b"), "<address>"),
    (re.compile("['\"]"), re.compile(r"'[^'\n]{1,200}'|\"[^\"\n]{1,200}\""), "<text>"),
    (
        re.compile(r"[\d@]"),
        re.compile(r"\b0x[0-9a-fA-F]+\b|\b(?=[a-f]*\d)[0-9a-f]{8,}\b|@[0-9a-f]{4,16}\b"),
        "<hex>",
    ),
    (re.compile(r"\d"), re.compile(r"\d+(?:[.,]\d+)*"), "<n>"),
)
"""What differs, each behind what it cannot be without: that is found, or found wanting, in a tenth of the time."""


class Parts(NamedTuple):
    """What a line is made of. Level and logger are empty where the line does not tell."""

    level: str
    logger: str
    message: str


@lru_cache(TAKEN_APART)
def parts(line: str) -> Parts:
    """Take a line apart, in whichever of the usual layouts it is."""
    line = line[:LONGEST].split("\n", 1)[0]
    if line[:1] == "{":
        return _json_parts(line)
    for needed, form in FORMS:
        found = form.match(line) if needed in line else None
        if found:
            groups = found.groupdict()
            severity = groups.get("severity")
            level = groups.get("level") or (SYSLOG_LEVELS[int(severity)] if severity else "")
            return Parts(level.upper(), groups.get("logger") or "", groups["message"].strip())
    return Parts("", "", line.strip())


def _json_parts(line: str) -> Parts:
    return Parts(
        _json_text(line, r"(?:log\.)?(?:level|severity|levelname)").upper(),
        _json_text(line, r"logger|logger_name|log\.logger|name"),
        _json_text(line, r"message|msg|log") or line,
    )


def _json_text(line: str, keys: str) -> str:
    """Return the text under one of these keys, without parsing the whole line: it may be cut."""
    found = re.search(rf'"(?:{keys})"\s*:\s*"((?:[^"\\]|\\.)*)', line)
    if not found:
        return ""
    try:
        return str(json.loads(f'"{found[1]}"', strict=False))
    except ValueError:
        return found[1]


def error_kind(lines: Sequence[str]) -> str:
    """Return what an error is called: its exception, else its error code, else its message without what differs.

    `lines` are those of one record on which errors were found, the first one first. Of a Java trace the outer
    exception counts, unless it only wraps its cause; of a Python traceback the last one, which was raised.
    """
    first = lines[0][:LONGEST]
    code = CODE.search(first)
    if code:
        return f"KafkaError {code[1]}"
    named = "Exception" in first or "Error" in first
    own = EXCEPTION.search(first) if named else None
    below = [found[1] for line in lines[1:] if (found := IN_TRACE.match(line[:LONGEST]))]
    if below and any(line.startswith(TRACEBACK) or line.endswith(TRACEBACK) for line in lines):
        return below[-1]
    outer = own[1] if own else next(iter(below), "")
    if outer.rpartition(".")[2] in WRAPPERS:
        return below[-1] if below and below[-1] != outer else _with_message(outer, lines)
    return outer or normalised(first)[:LONGEST_KIND] or "error"


def _with_message(wrapper: str, lines: Sequence[str]) -> str:
    """Return a general exception with its message: alone it says little."""
    line = next((line for line in lines if f"{wrapper}: " in line), "")
    message = normalised(line.partition(f"{wrapper}: ")[2])
    return f"{wrapper}: {message}"[:LONGEST_KIND] if message else wrapper


def named_error(text: str) -> str:
    """Return the error of a Kafka client that a line names; empty where it names none, or one that says little."""
    code = CODE.search(text[:LONGEST])
    if code:
        return f"KafkaError {code[1]}"
    found = (each[1] for each in EXCEPTION.finditer(text[:LONGEST]))
    return next((name for name in found if name.startswith(OF_KAFKA) and name.rpartition(".")[2] not in WRAPPERS), "")


@lru_cache(TAKEN_APART)
def normalised(text: str) -> str:
    """Return the message without what differs between two errors of one kind: numbers, ids, addresses, quoted texts."""
    message = parts(text).message[:LONGEST_MESSAGE]
    for needed, pattern, blank in BLANKS:
        if needed.search(message):
            message = pattern.sub(blank, message)
    return message
