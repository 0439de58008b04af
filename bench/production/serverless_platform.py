"""Lines of AWS Lambda's JSON log format: platform.start, platform.report and a Python program's own records."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bench.production.serverless_forms import iso

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.production.serverless_wordings import LogCall


def init_start(at_ms: int, arn: str) -> str:
    """The environment is made."""
    record = {
        "initializationType": "on-demand",
        "phase": "init",
        "runtimeVersion": "python:3.12.v61",
        "runtimeVersionArn": arn,
        "functionName": "order-intake",
        "functionVersion": "$LATEST",
    }
    return _event(at_ms, "platform.initStart", record)


def start(at_ms: int, request: str) -> str:
    """An invocation begins."""
    return _event(at_ms, "platform.start", {"requestId": request, "version": "$LATEST"})


def report(at_ms: int, request: str, took_ms: float, *, killed: bool) -> str:
    """An invocation has ended, well or by the function's timeout."""
    metrics = {
        "durationMs": round(took_ms, 3),
        "billedDurationMs": int(took_ms) + 1,
        "memorySizeMB": 512,
        "maxMemoryUsedMB": 131,
    }
    record: dict[str, object] = {"requestId": request, "metrics": metrics, "status": "timeout" if killed else "success"}
    return _event(at_ms, "platform.report", record)


def _event(at_ms: int, kind: str, record: Mapping[str, object]) -> str:
    return json.dumps({"time": iso(at_ms), "type": kind, "record": record}, separators=(",", ":"))


def logged(at_ms: int, request: str, call: LogCall) -> str:
    """A record of Python's logging."""
    message, _, trace = call.text.partition("\n")
    record: dict[str, object] = {
        "timestamp": iso(at_ms)[:19] + "Z",
        "level": call.level,
        "message": message,
        "logger": call.logger,
        "requestId": request,
    }
    if trace:
        lines = trace.split("\n")
        kind, _, reason = lines[-1].partition(": ")
        record |= {"stackTrace": lines[1:-1], "errorType": kind.rsplit(".", 1)[-1], "errorMessage": reason}
    return json.dumps(record)
