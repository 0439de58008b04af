"""One execution environment: one process of AWS's runtime client, frozen (SIGSTOP) between invocations."""

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

from leadsman.lab.process import HERE, LAUNCHER

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TIED = (sys.executable, "-I", "-S", str(LAUNCHER))
"""Starts a program that the kernel ends with this one: a frozen worker would otherwise outlive a killed demo."""

STARTS_WITHIN_SECONDS = 180
"""A cold start takes 0.1 s quiet, seconds on a machine that runs Spark and a broker beside it, and a minute where each
processor has fifteen programs to run. One that ends instead is not waited for."""

LOOK_SECONDS = 0.01


TOLD_CHARACTERS = 300
"""The end of a log that is shown: with it the error's own line."""


class DidNotStart(Exception):
    """The function's code cannot be loaded, or the machine is far too busy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """What is run: `handler` as `module.name`, and for how long at most."""

    name: str
    handler: str
    time_limit_seconds: float
    variables: Mapping[str, str]
    logs: Path
    freezes: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an invocation ended: `error` is empty, or the kind of error that Lambda names."""

    error: str
    answer: Any


@dataclass(slots=True)
class Environment:
    """A process that serves one invocation at a time. As a context manager it is killed at the end."""

    function: Function
    cold_starts: int = 0
    invocations: int = 0
    _process: subprocess.Popen[bytes] | None = None
    _server: ThreadingHTTPServer | None = None
    _events: queue.Queue[tuple[str, bytes, float]] = field(default_factory=queue.Queue)
    _waiting: threading.Event = field(default_factory=threading.Event)
    _answers: dict[str, Outcome] = field(default_factory=dict)
    _stream: Path | None = None

    def invoke(self, event: Mapping[str, Any]) -> Outcome:
        """Run the handler on an event, in a process that may be an old one."""
        if (self._process is None or self._process.poll() is not None) and (killed := self._start()):
            return Outcome("Runtime.ExitError", killed)
        process = self._process
        assert process is not None
        request = str(uuid.uuid4())
        began = time.monotonic()
        self._log(f"START RequestId: {request} Version: $LATEST")
        self._waiting.clear()
        self._events.put((request, json.dumps(event).encode(), time.time() + self.function.time_limit_seconds))
        process.send_signal(signal.SIGCONT)
        outcome = self._outcome(process, request, began)
        taken = (time.monotonic() - began) * 1000
        self._log(f"END RequestId: {request}")
        self._log(f"REPORT RequestId: {request}\tDuration: {taken:.2f} ms\tBilled Duration: {taken:.0f} ms")
        self.invocations += 1
        return outcome

    def _outcome(self, process: subprocess.Popen[bytes], request: str, began: float) -> Outcome:
        limit = self.function.time_limit_seconds
        while request not in self._answers:
            if process.poll() is not None:
                self._log(f"RequestId: {request} Error: Runtime exited with error: exit status {process.returncode}")
                return Outcome("Runtime.ExitError", process.returncode)
            if time.monotonic() - began > limit:
                self._kill()
                self._log(f"{_stamp()} {request} Task timed out after {limit:.2f} seconds")
                return Outcome("Sandbox.Timedout", None)
            time.sleep(LOOK_SECONDS)
        self._waiting.wait(limit)
        self._freeze()
        return self._answers.pop(request)

    def _freeze(self) -> None:
        if self.function.freezes and self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGSTOP)

    def _start(self) -> int:
        """Start a process. Return 0, or less where a signal killed it meanwhile: that says nothing of its code."""
        self.close()
        self.cold_starts += 1
        self._events = queue.Queue()  # a request of the dead process still waits on the old one
        self._server = _serve(self)
        stamp = time.strftime("%Y-%m-%d", time.gmtime())
        self.function.logs.mkdir(parents=True, exist_ok=True)
        self._stream = self.function.logs / f"{stamp}[$LATEST]{uuid.uuid4().hex}"
        with self._stream.open("ab") as log:
            self._process = subprocess.Popen(
                [*TIED, str(os.getpid()), HERE.way, sys.executable, "-m", "awslambdaric", self.function.handler],
                env={**os.environ, **self._variables()},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        if self._started():
            return 0
        ended = self._process.poll() or 0
        told = self._stream.read_text(errors="replace").replace("\r", "\n").strip()[-TOLD_CHARACTERS:]
        self.close()
        if ended >= 0:
            raise DidNotStart(f"{self.function.name} did not start. Its last words: {told}")
        self._log(f"INIT_REPORT Phase: init Status: error Error Type: Runtime.ExitError: exit status {ended}")
        return ended

    def _started(self) -> bool:
        """Wait until the runtime asks for its first event; False: it ended, or takes too long."""
        assert self._process is not None
        deadline = time.monotonic() + STARTS_WITHIN_SECONDS
        while not self._waiting.wait(LOOK_SECONDS):
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
            "AWS_LAMBDA_LOG_STREAM_NAME": str(self._stream and self._stream.name),
            "AWS_LAMBDA_LOG_LEVEL": "INFO",
            "AWS_LAMBDA_LOG_FORMAT": "TEXT",
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            **self.function.variables,
        }

    def _log(self, line: str) -> None:
        assert self._stream is not None
        with self._stream.open("ab") as log:
            log.write(f"{line}\n".encode())

    @property
    def pid(self) -> int | None:
        """The process that is there now, for those who mean to kill it."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def close(self) -> None:
        """End the process, frozen or not."""
        self._kill()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
        self._process = self._server = None
        self._waiting.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def next_event(self) -> tuple[str, bytes, float]:
        """Wait for the next invocation; called by the runtime client, through HTTP."""
        self._waiting.set()
        return self._events.get()

    def answered(self, request: str, kind: str, body: bytes) -> None:
        """Take an invocation's result; called by the runtime client, through HTTP."""
        answer = json.loads(body) if body else None
        self._answers[request] = Outcome("" if kind == "response" else _error(answer), answer)


def _error(answer: Any) -> str:  # noqa: ANN401 - JSON
    return str(answer.get("errorType", "Error")) if isinstance(answer, dict) else "Error"


def _stamp() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())


def _serve(environment: Environment) -> ThreadingHTTPServer:
    """Serve the runtime API: /next waits for an event, /response and /error end one."""

    class Runtime(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Write no access log."""

        def do_GET(self) -> None:
            request, event, deadline = environment.next_event()
            self.send_response(200)
            told = {
                "Lambda-Runtime-Aws-Request-Id": request,
                "Lambda-Runtime-Deadline-Ms": str(int(deadline * 1000)),
                "Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:eu-central-1:000000000000:function:f",
                "Content-Type": "application/json",
                "Content-Length": str(len(event)),
            }
            for name, value in told.items():
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
                environment.answered(parts[-2], parts[-1], body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Runtime)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
