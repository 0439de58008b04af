"""The emulator behaves as Lambda: AWS's own runtime client in a real process that is frozen and killed."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import psutil
import pytest

from account_linking.demo.emulator.environment import DidNotStart, Environment, LambdaFunction
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from pathlib import Path

SOON = timedelta(seconds=30)
HANDLERS = """
import os, threading, time

TICKS = []

def tick():
    while True:
        TICKS.append(time.monotonic())
        time.sleep(0.01)

threading.Thread(target=tick, daemon=True).start()

def handler(event, context):
    begun = len(TICKS)
    time.sleep(event.get("takes", 0))
    if event.get("exits"):
        os._exit(3)
    if event.get("fails"):
        raise ValueError("requested by the event")
    return {"pid": os.getpid(), "ticks": begun, "left": context.get_remaining_time_in_millis()}
"""


@pytest.fixture
def function(tmp_path: Path) -> LambdaFunction:
    """A function with a time limit of three seconds."""
    (tmp_path / "ticking.py").write_text(HANDLERS, encoding="utf-8")
    return LambdaFunction(
        name="ticking",
        handler="ticking.handler",
        time_limit_seconds=3,
        variables={"PYTHONPATH": str(tmp_path)},
        logs=tmp_path / "logs",
    )


def log(environment: Environment) -> str:
    return "".join(path.read_text(encoding="utf-8") for path in environment.function.logs.iterdir())


def test_a_process_is_reused_and_frozen_in_between(function: LambdaFunction) -> None:
    with Environment(function) as environment:
        first = environment.invoke({}).response
        before = environment.invoke({}).response["ticks"]
        wait_for(lambda: psutil.Process(environment.pid).status() == "stopped", timeout=SOON, what="the freeze")
        time.sleep(0.5)  # reason: the time frozen is the experiment
        second = environment.invoke({}).response

    assert second["pid"] == first["pid"]
    assert second["ticks"] - before < 15
    assert environment.cold_starts == 1


def test_an_invocation_knows_how_much_time_it_has(function: LambdaFunction) -> None:
    with Environment(function) as environment:
        left = environment.invoke({}).response["left"]

    assert 0 < left <= 3000


def test_an_invocation_beyond_the_time_limit_is_killed_and_the_next_gets_a_new_process(
    function: LambdaFunction,
) -> None:
    with Environment(function) as environment:
        before = environment.invoke({}).response["pid"]
        slow = environment.invoke({"takes": 60})
        after = environment.invoke({}).response["pid"]

        log_text = log(environment)

    assert slow.error == "Sandbox.Timedout"
    assert not psutil.pid_exists(before)
    assert after != before
    assert "Task timed out after 3.00 seconds" in log_text


def test_a_process_that_ends_itself_is_an_error_and_is_replaced(function: LambdaFunction) -> None:
    with Environment(function) as environment:
        ended = environment.invoke({"exits": True})
        after = environment.invoke({})

    assert ended.error == "Runtime.ExitError"
    assert not after.error
    assert environment.cold_starts == 2


def test_an_exception_is_reported_by_type_and_the_process_is_reused(function: LambdaFunction) -> None:
    with Environment(function) as environment:
        before = environment.invoke({}).response["pid"]
        failed = environment.invoke({"fails": True})
        after = environment.invoke({}).response["pid"]

    assert failed.error == "ValueError"
    assert after == before


def test_two_environments_work_side_by_side(function: LambdaFunction) -> None:
    answers: list[int] = []

    def invoke(environment: Environment) -> None:
        answers.append(environment.invoke({"takes": 1}).response["pid"])

    with Environment(function) as one, Environment(function) as other:
        for environment in (one, other):
            environment.invoke({})  # the cold start is not measured
        began = time.monotonic()
        threads = [threading.Thread(target=invoke, args=(each,)) for each in (one, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.monotonic() - began

    assert len(set(answers)) == 2
    assert took < 1.8


def test_a_closed_environment_has_no_process(function: LambdaFunction) -> None:
    with Environment(function) as environment:
        environment.invoke({})
        pid = environment.pid

    assert pid is not None
    assert not psutil.pid_exists(pid)


def test_code_that_cannot_be_loaded_is_reported_at_once(function: LambdaFunction) -> None:
    began = time.monotonic()

    with (
        Environment(replace(function, handler="nowhere.handler")) as environment,
        pytest.raises(DidNotStart, match="No module named 'nowhere'"),
    ):
        environment.invoke({})

    assert time.monotonic() - began < 60


def test_a_process_that_is_killed_while_it_starts_is_started_again(function: LambdaFunction, tmp_path: Path) -> None:
    (tmp_path / "killed_once.py").write_text(
        "import os, pathlib, signal\n"
        "mark = pathlib.Path(__file__).with_suffix('.mark')\n"
        "if not mark.exists():\n"
        "    mark.touch()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "def handler(event, context):\n"
        "    return 'alive'\n"
    )

    with Environment(replace(function, handler="killed_once.handler")) as environment:
        outcomes = [environment.invoke({}), environment.invoke({})]

    assert [each.error for each in outcomes] == ["Runtime.ExitError", ""]
    assert outcomes[1].response == "alive"
