"""How the gate sees a leak of producer ids before it ships."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.gate.program import Program

IDEMPOTENT_BY_DEFAULT = {
    "Producer": False,  # confluent-kafka: librdkafka's enable.idempotence
    "SerializingProducer": False,
    "AvroProducer": False,
    "AIOProducer": False,
    "AIOKafkaProducer": False,
    "KafkaProducer": True,  # kafka-python since 3.0; an older one has no idempotence to leak ids with
}
"""What makes a producer, and whether it asks the broker for an id unless told otherwise."""

SENDS = frozenset({"produce", "send", "send_and_wait", "begin_transaction"})

HANDLERS = ("handle", "handler", "lambda_handler", "on_", "process_", "consume_", "send_", "publish", "emit")
"""How functions are called that run once an event."""

ONCE = ("cache", "lru_cache", "cached_property", "fixture", "cached")
"""Decorators under which a function's body runs once."""

PER_RUN = frozenset({"main", "run", "__init__", "__enter__", "__aenter__", "start", "startup", "setup", "lifespan"})
"""Functions that run once a process or once an object, also where they send."""

LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def producer_per_record(program: Program) -> Iterator[tuple[int, str]]:
    """Every idempotent producer takes an id that brokers keep for a day: made per record, they fill the heap."""
    for call, around in _within(program.tree, ()):
        name = _called(call)
        if name in IDEMPOTENT_BY_DEFAULT and _idempotent(program, call, default=IDEMPOTENT_BY_DEFAULT[name]):
            where = _repeated(around)
            if where:
                yield call.lineno, f"{name} is made {where}: each takes a producer id, and brokers keep them all"


def _within(node: ast.AST, around: tuple[ast.AST, ...]) -> Iterator[tuple[ast.Call, tuple[ast.AST, ...]]]:
    """Yield every call with what it stands in, outermost first."""
    if isinstance(node, ast.Call):
        yield node, around
    for child in ast.iter_child_nodes(node):
        yield from _within(child, (*around, node))


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _idempotent(program: Program, call: ast.Call, *, default: bool) -> bool:
    """Say whether this producer takes an id: by its own arguments, else by the program's settings, else by default."""
    told = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    if "transactional_id" in told or "transactional.id" in program.settings:
        return False  # a stable name has a stable id, however often the producer is made
    own = told.get("enable_idempotence")
    if isinstance(own, ast.Constant):
        return bool(own.value)
    setting = program.settings.get("enable.idempotence") or program.settings.get("enable_idempotence")
    return default if setting is None else str(setting.value).lower() == "true"


def _repeated(around: tuple[ast.AST, ...]) -> str:
    """Say in which place that runs again and again a call stands; empty where it runs once."""
    functions = [node for node in around if isinstance(node, FUNCTIONS)]
    inside = around[around.index(functions[-1]) :] if functions else around
    if any(isinstance(node, LOOPS) for node in inside):
        return "in a loop"
    if not functions or _runs_once(functions[-1]):
        return ""
    function = functions[-1]
    if function.name.startswith(HANDLERS):
        return f"in {function.name}(), which runs for each event"
    return f"in {function.name}(), which sends with it and returns" if _sends_outside_loops(function) else ""


def _runs_once(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    decorators = [each.func if isinstance(each, ast.Call) else each for each in function.decorator_list]
    names = {each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "") for each in decorators}
    return function.name in PER_RUN or bool(names & set(ONCE))


def _sends_outside_loops(function: ast.AST) -> bool:
    """Say whether a function sends once a call: one that makes a producer and sends in a loop is a job."""
    return any(
        isinstance(call.func, ast.Attribute)
        and call.func.attr in SENDS
        and not any(isinstance(node, LOOPS) for node in around)
        for call, around in _within(function, ())
    )
