"""A consumer whose offset commits time out before a failover ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.code import syntax as s
from leadsman.gate.code.usage import calls_on, client_variables
from leadsman.gate.facts import Facts, Match
from leadsman.gate.rule import Rule
from leadsman.kafka_defaults import number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.gate.code.analysis import Site
    from leadsman.gate.code.values import Evaluation

TIMEOUT = "default.api.timeout.ms"

LEAST_MS = round(2 * number("consumer", TIMEOUT))
"""Twice the default. Failovers of up to 79 s were measured on small clusters; on a large cluster they take longer."""

RECOMMENDED_MS = round(number("streams", "task.timeout.ms"))
"""As long as Streams retries a task since 2.8."""


def _find(facts: Facts) -> Iterator[Match]:
    for client in facts.resources:
        setting, value = client.known(TIMEOUT), client.number(TIMEOUT)
        if client.is_kind("consumer", "streams") and setting is not None and value is not None and value < LEAST_MS:
            yield Match(
                span=setting.span,
                message=f"{setting.written}={setting.value}: commits time out after {value / 1000:g} s, a"
                " failover can take longer",
                replacement=str(RECOMMENDED_MS),
                replacement_span=setting.value_span,
            )
    if facts.evaluation is not None:
        yield from _commits(facts, facts.evaluation)


def _commits(facts: Facts, evaluation: Evaluation) -> Iterator[Match]:
    for client, variable, function in client_variables(facts, ("consumer",)):
        methods = {"kafka-python": ("commit",), "kafka-clients": ("commitSync",)}
        name = client.library.name if client.library else ""
        for site in calls_on(evaluation.code, variable, function, methods.get(name, ())):
            value = _timeout(evaluation, site)
            if value is not None and value < LEAST_MS:
                yield Match(
                    span=site.call.span,
                    message=f"{s.called_name(site.call)}() times out after {value / 1000:g} s, a failover"
                    " can take longer",
                )


def _timeout(evaluation: Evaluation, site: Site) -> float | None:
    node = site.call.keyword("timeout_ms") or next(
        (each for each in site.call.arguments if isinstance(each, s.Call) and s.receiver(each) == "Duration"), None
    )
    value = evaluation.value(node, site.around) if node is not None else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


RULE = Rule(
    title="Commits that time out before a failover ends",
    why="While a partition of the offsets topic has no leader, no commit succeeds. A consumer whose"
    " commit times out earlier"
    " crashes with the first broker that fails. Failovers of up to 79 s were measured on small clusters.",
    fix=f"Set {TIMEOUT}={RECOMMENDED_MS}, and let a supervisor replace a consumer that failed.",
    find=_find,
)
