"""Serverless runtimes: AWS Lambda (text and JSON), Google Cloud Functions, Azure Functions."""

from __future__ import annotations

from leadsman import vocabulary as v
from leadsman.telemetry.source import Signature, Source

REQUEST = r"RequestId: (?P<request>[0-9a-f-]{36})"

SOURCE = Source(
    "serverless",
    "Serverless runtime",
    "runtime",
    (
        Signature(v.WORKER_STARTED, r"INIT_START Runtime Version: (?P<runtime>[\w.:-]*\w)\b"),
        Signature(v.WORKER_STARTED, r"\"type\": ?\"platform\.initStart\""),
        Signature(v.INVOCATION_STARTED, rf"START {REQUEST} Version: ", once=True),
        Signature(v.INVOCATION_STARTED, r"\"type\": ?\"platform\.start\"", once=True),
        Signature(v.INVOCATION_STARTED, r"Function execution started", once=True),
        Signature(v.INVOCATION_STARTED, r"Executing 'Functions?\.(?P<function>\w+)' \(Reason=", once=True),
        Signature(v.INVOCATION_ENDED, rf"END {REQUEST}", once=True),
        Signature(
            v.INVOCATION_ENDED,
            # A tab, or a tab as JSON writes it.
            rf"REPORT {REQUEST}[^\n]{{1,3}}Duration: (?P<value>\d+\.\d+) ms",
            scale=0.001,
            once=True,
        ),
        Signature(
            v.INVOCATION_ENDED,
            r"\"type\": ?\"platform\.(?:report|runtimeDone)\"[^\n]{0,300}\"durationMs\": ?(?P<value>\d+\.\d+|\d+)[,}]",
            scale=0.001,
            once=True,
        ),
        Signature(
            v.INVOCATION_ENDED,
            r"Function execution took (?P<value>\d+) ms, finished with status",
            scale=0.001,
            once=True,
        ),
        Signature(v.INVOCATION_ENDED, r"Executed 'Functions?\.(?P<function>\w+)' \(", once=True),
        Signature(v.INVOCATION_TIMED_OUT, r"Task timed out after (?P<value>\d+\.\d+) seconds"),
        Signature(
            v.INVOCATION_TIMED_OUT,
            r"\"type\": ?\"platform\.(?:report|runtimeDone)\"[^\n]{0,400}\"status\": ?\"timeout\"",
        ),
    ),
)
