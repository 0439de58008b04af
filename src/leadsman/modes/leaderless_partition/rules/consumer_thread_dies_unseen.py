"""A consumer or Streams thread whose end no other part of the program notices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.code import syntax as s
from leadsman.gate.code import usage
from leadsman.gate.code.usage import calls_on, client_variables, is_kept
from leadsman.gate.facts import Facts, Match
from leadsman.gate.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.gate.code.analysis import Code

POLLS = frozenset({"poll", "consume", "getmany", "getone"})
WAITS = frozenset({"await", "join", "sleep", "awaitTermination", "park"})
"""A program that waits for something else than its stream threads outlives them; another one ends with the last."""

POOLS = frozenset({"submit", "execute"})
"""Methods of a pool of threads, whose threads keep the process alive when a task has ended."""

RESULTS = frozenset({"result", "exception", "add_done_callback", "as_completed", "wait", "invokeAll", "get"})

WATCHES = frozenset({"setUncaughtExceptionHandler", "setStateListener", "state", "setGlobalStateRestoreListener"})


def _find(facts: Facts) -> Iterator[Match]:
    if facts.evaluation is None:
        return
    yield from _threads(facts, facts.evaluation.code)
    yield from _streams(facts, facts.evaluation.code)


def _threads(facts: Facts, code: Code) -> Iterator[Match]:
    """Yield the threads whose function polls a consumer in a loop that no handler of errors surrounds."""
    polling = dict(_polling_functions(facts, code))
    if not polling or _ends_with_its_thread(code):
        return
    for site in code.sites:
        for function in _run_apart(code, site.call):
            handles = any(isinstance(each, s.Try) and each.handlers for each in s.walk(function))
            if id(function) in polling and not handles:
                where = f"of {function.name}() " if function.name else ""
                message = (
                    f"the thread {where}ends with the first error of {polling[id(function)]}, and the process goes on"
                )
                yield Match(span=site.call.span, message=message)


def _run_apart(code: Code, call: s.Call) -> list[s.Function]:
    """Return the functions that a call runs in another thread: of `Thread(target=...)`, or of a pool of threads."""
    target = call.keyword("target") if s.called_name(call) == "Thread" else None
    if s.called_name(call) in POOLS and call.arguments and not _reads_results(code):
        target = call.arguments[0]
    if isinstance(target, s.Function):
        return [target]
    name = target.name if isinstance(target, s.Name | s.Attribute) else ""
    return [function for function, _ in code.functions.get(name, [])]


def _reads_results(code: Code) -> bool:
    """Whether the program may notice how a task of a pool ended."""
    return any(s.called_name(site.call) in RESULTS for site in code.sites)


def _ends_with_its_thread(code: Code) -> bool:
    """Whether the program starts one thread and waits for it: then the program ends, and is restarted."""
    threads = [site for site in code.sites if s.called_name(site.call) == "Thread"]
    waits = any(s.called_name(site.call) == "join" and not site.call.arguments for site in code.sites)
    return len(threads) == 1 and waits and not usage.innermost_loop(threads[0].around)


def _polling_functions(facts: Facts, code: Code) -> Iterator[tuple[int, str]]:
    for _, variable, function in client_variables(facts, ("consumer",)):
        for site in calls_on(code, variable, function, POLLS):
            loops = [each for each in site.around if isinstance(each, s.Loop)]
            around = [each for each in site.around if isinstance(each, s.Function)]
            if loops and around:
                yield id(around[-1]), f"{s.called_name(site.call)}()"
        if function is not None and any(_iterates(each, variable) for each in s.walk_all(function.body)):
            yield id(function), f"the loop over {variable}"


def _iterates(node: s.Node, variable: str) -> bool:
    """Whether a loop reads a consumer: `for record in consumer`."""
    return isinstance(node, s.Loop) and node.iterable is not None and s.dotted(node.iterable) == variable


def _streams(facts: Facts, code: Code) -> Iterator[Match]:
    if any(s.called_name(site.call) in WATCHES for site in code.sites):
        return
    for client, variable, function in client_variables(facts, ("streams",)):
        scope = function.body if function else code.body
        starts = list(calls_on(code, variable, function, ("start",)))
        stays = any(isinstance(each, s.Call) and s.called_name(each) in WAITS for each in s.walk_all(scope))
        if starts and stays and not variable.startswith("self.") and not is_kept(scope, variable):
            message = f"{variable}.start() without setUncaughtExceptionHandler(): a failed stream thread stays dead"
            yield Match(span=client.span, message=message)


RULE = Rule(
    title="A consumer thread whose end no part notices",
    why="A commit that times out during a failover ends the thread that polls. The process goes on,"
    " passes its health check, and"
    " consumes nothing more, also when the cluster has recovered.",
    fix="Catch the error around the loop and start again, or end the process so that it is restarted. Kafka Streams:"
    " setUncaughtExceptionHandler with REPLACE_THREAD (since 2.8).",
    find=_find,
)
