"""Any application: errors and exceptions that no other source knows."""

from __future__ import annotations

from leadsman import vocabulary as v
from leadsman.telemetry.source import Signature, Source

SOURCE = Source(
    "application",
    "Application",
    "application",
    (
        Signature(
            v.RECORD_FAILED,
            r"(?:[Ee]vent|[Pp]ublish|[Dd]eliver|[Mm]essage|[Rr]ecord|[Pp]roduc)[^\n]{0,80}[Ff]ail[^\n]{0,40}"
            r"(?P<error>KafkaConnectionError|KafkaTimeoutError|RequestTimedOutError|NodeNotReadyError)\b",
            names_source=False,
        ),
        Signature(
            v.CLIENT_STARTED,
            r"(?P<client>Producer|Consumer) of (?P<library>[\w-]+) (?P<version>\d+\.\d+\.\d+)\b",
            names_source=False,
        ),
        Signature(v.ERROR, r"(?P<kind>[\w.$]{0,120}\w(?:Exception|Error)): ", names_source=False),
        Signature(v.ERROR, r"(?:\b|\x1b\[[0-9;]*m)(?:ERROR|FATAL|CRITICAL|SEVERE)[ \]|:\t\"\x1b]", names_source=False),
        Signature(v.ERROR, r"\b(?:level|lvl|severity)=\"?(?:error|fatal|panic|critical)\b", names_source=False),
        Signature(
            v.ERROR,
            r"\"(?:log\.)?(?:level|severity|levelname)\": ?\"(?:error|fatal|panic|critical)\"",
            names_source=False,
        ),
        Signature(v.ERROR, r"Traceback \(most recent call last\)", names_source=False),
        Signature(v.ERROR, r"%[0-3]\|\d+\.\d+\|(?P<kind>[A-Z]+)\|", names_source=False),
        # Of librdkafka's lower severities only failures: warnings about settings are not errors.
        Signature(
            v.ERROR,
            r"%[4-6]\|\d+\.\d+\|(?P<kind>FAIL|ERROR|FETCH|OFFSET|REQTMOUT|SESSTMOUT|COMMITFAIL|UNKTOPIC|TXNERR|FATAL)\|",
            names_source=False,
        ),
        # sarama's errors; its logger has no levels.
        Signature(
            v.ERROR,
            r"\bkafka(?: server: [A-Z]|: (?:error|client has|insufficient|invalid|broker) )",
            names_source=False,
        ),
        Signature(
            v.ERROR,
            r"Error while fetching metadata with correlation id \d+ : \{[^\n}]{1,300}=(?P<kind>[A-Z_]{4,60})\}",
            names_source=False,
        ),
    ),
)
