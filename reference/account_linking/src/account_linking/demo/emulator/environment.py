"""A Lambda execution environment: one process of AWS's runtime client, frozen (SIGSTOP) between invocations."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import uuid
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

from leadsman.lab.processes.program import HOST_NETWORK, LAUNCHER

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PDEATHSIG_LAUNCHER = (sys.executable, "-I", "-S", str(LAUNCHER))
"""Starts a program with PR_SET_PDEATHSIG: without it a frozen worker would outlive a killed demo."""

START_TIMEOUT_SECONDS = 180
"""A cold start takes 0.1 s on an idle machine, seconds beside Spark and a broker, and a minute with fifteen runnable
programs for each processor. A process that exits is not waited for."""

POLL_SECONDS = 0.01


LOG_TAIL_CHARACTERS = 300
"""Length of the log's tail in the error message: enough for the error's own line."""


class DidNotStart(Exception):
    """The function's process exited or did not call the runtime API within START_TIMEOUT_SECONDS."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LambdaFunction:
    """A Lambda function: `handler` as `module.name`, its time limit, environment variables and log folder."""

    name: str
    handler: str
    time_limit_seconds: float
    variables: Mapping[str, str]
    logs: Path
    freezes: bool = True


@dataclass(frozen=True, slots=True)
class LambdaResult:
    """The result of an invocation: `error` is empty, or Lambda's error type."""

    error: str
    response: Any


@dataclass(frozen=True, slots=True)
class PastInvocation:
    """An invocation that is over: when it began and ended, as Unix time in seconds, and its error, or an empty text."""

    began: float
    ended: float
    error: str


@dataclass(slots=True)
class Environment:
    """A process that serves one invocation at a time. The context manager kills it at the end."""

    function: LambdaFunction
    cold_starts: int = 0
    past: list[PastInvocation] = field(default_factory=list)
    log_streams: list[Path] = field(default_factory=list)
    """The log of each process, the first first."""
    _process: subprocess.Popen[bytes] | None = None
    _server: ThreadingHTTPServer | None = None
    _events: queue.Queue[tuple[str, bytes, float]] = field(default_factory=queue.Queue)
    _is_waiting: threading.Event = field(default_factory=threading.Event)
    _results: dict[str, LambdaResult] = field(default_factory=dict)

    def invoke(self, event: Mapping[str, Any]) -> LambdaResult:
        """Run the handler on an event; reuses the process of an earlier invocation if it is alive."""
        began = time.time()
        result = self._invoke(event)
        self.past.append(PastInvocation(began, time.time(), result.error))
        return result

    @property
    def invocations(self) -> int:
        """How many invocations are over."""
        return len(self.past)

    def _invoke(self, event: Mapping[str, Any]) -> LambdaResult:
        if (self._process is None or self._process.poll() is not None) and (killed := self._start()):
            return LambdaResult("Runtime.ExitError", killed)
        process = self._process
        assert process is not None
        request = str(uuid.uuid4())
        began = time.monotonic()
        self._log(f"START RequestId: {request} Version: $LATEST")
        self._is_waiting.clear()
        self._events.put((request, json.dumps(event).encode(), time.time() + self.function.time_limit_seconds))
        process.send_signal(signal.SIGCONT)
        result = self._wait_for_result(process, request, began)
        elapsed_ms = (time.monotonic() - began) * 1000
        self._log(f"END RequestId: {request}")
        self._log(f"REPORT RequestId: {request}\tDuration: {elapsed_ms:.2f} ms\tBilled Duration: {elapsed_ms:.0f} ms")
        return result

    def _wait_for_result(self, process: subprocess.Popen[bytes], request: str, began: float) -> LambdaResult:
        limit = self.function.time_limit_seconds
        while request not in self._results:
            if process.poll() is not None:
                self._log(f"RequestId: {request} Error: Runtime exited with error: exit status {process.returncode}")
                return LambdaResult("Runtime.ExitError", process.returncode)
            if time.monotonic() - began > limit:
                self._kill()
                self._log(f"{_stamp()} {request} Task timed out after {limit:.2f} seconds")
                return LambdaResult("Sandbox.Timedout", None)
            time.sleep(POLL_SECONDS)
        self._is_waiting.wait(limit)
        self._freeze()
        return self._results.pop(request)

    def _freeze(self) -> None:
        if self.function.freezes and self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGSTOP)

    def _start(self) -> int:
        """Start a process. Return 0, or a negative number if a signal killed it; DidNotStart if its code failed."""
        self.close()
        self.cold_starts += 1
        self._events = queue.Queue()  # a request of the dead process still waits on the old queue
        self._server = _serve(self)
        stamp = time.strftime("%Y-%m-%d", time.gmtime())
        self.function.logs.mkdir(parents=True, exist_ok=True)
        self.log_streams.append(self.function.logs / f"{stamp}[$LATEST]{uuid.uuid4().hex}")
        with self.log_streams[-1].open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *PDEATHSIG_LAUNCHER,
                    str(os.getpid()),
                    HOST_NETWORK.netns_entry,
                    sys.executable,
                    "-m",
                    "awslambdaric",
                    self.function.handler,
                ],
                env={**os.environ, **self._variables()},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        if self._wait_for_start():
            return 0
        ended = self._process.poll() or 0
        log_tail = self.log_streams[-1].read_text(errors="replace").replace("\r", "\n").strip()[-LOG_TAIL_CHARACTERS:]
        self.close()
        if ended >= 0:
            raise DidNotStart(f"{self.function.name} did not start. The end of its log: {log_tail}")
        self._log(f"INIT_REPORT Phase: init Status: error Error Type: Runtime.ExitError: exit status {ended}")
        return ended

    def _wait_for_start(self) -> bool:
        """Wait until the runtime requests its first event; False if the process ended or the timeout is over."""
        assert self._process is not None
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while not self._is_waiting.wait(POLL_SECONDS):
            if self._process.poll() is not None or time.monotonic() > deadline:
                return False
        return True

    def _variables(self) -> dict[str, str]:
        assert self._server is not None
        return {
            "TZ": "UTC",
            "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{self._server.server_port}",
            "_HANDLER": self.function.handler,
            "LAMBDA_TASK_ROOT": os.getcwd(),  # noqa: PTH109 - a string for a variable
            "AWS_LAMBDA_FUNCTION_NAME": self.function.name,
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "256",
            "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{self.function.name}",
            "AWS_LAMBDA_LOG_STREAM_NAME": self.log_streams[-1].name,
            "AWS_LAMBDA_LOG_LEVEL": "INFO",
            "AWS_LAMBDA_LOG_FORMAT": "TEXT",
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            **self.function.variables,
        }

    def _log(self, line: str) -> None:
        with self.log_streams[-1].open("ab") as log:
            log.write(f"{line}\n".encode())

    @property
    def pid(self) -> int | None:
        """Process id of the running process, or None."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def close(self) -> None:
        """Kill the process, frozen or not."""
        self._kill()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
        self._process = self._server = None
        self._is_waiting.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def next_event(self) -> tuple[str, bytes, float]:
        """Wait for the next invocation; the runtime client calls this through HTTP."""
        self._is_waiting.set()
        return self._events.get()

    def set_result(self, request: str, kind: str, body: bytes) -> None:
        """Record an invocation's result; the runtime client calls this through HTTP."""
        response = json.loads(body) if body else None
        self._results[request] = LambdaResult("" if kind == "response" else _error(response), response)


def _error(response: Any) -> str:  # noqa: ANN401 - JSON
    return str(response.get("errorType", "Error")) if isinstance(response, dict) else "Error"


def _stamp() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())


def _serve(environment: Environment) -> ThreadingHTTPServer:
    """Serve the runtime API: /next waits for an event, /response and /error end an invocation."""

    class Runtime(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Write no access log."""

        def do_GET(self) -> None:
            request, event, deadline = environment.next_event()
            self.send_response(200)
            headers = {
                "Lambda-Runtime-Aws-Request-Id": request,
                "Lambda-Runtime-Deadline-Ms": str(int(deadline * 1000)),
                "Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:eu-central-1:000000000000:function:f",
                "Content-Type": "application/json",
                "Content-Length": str(len(event)),
            }
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(event)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(202)
            self.send_header("Content-Length", "0")
            self.end_headers()
            parts = self.path.split("/")
            if "invocation" in parts:
                environment.set_result(parts[-2], parts[-1], body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Runtime)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
