"""The variants that run while Prometheus scrapes them, and how much faster than in production each of them is."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertTrial:
    """A variant to run.

    `scale`: so many times faster than in production; durations of the mode's rules, and of public rules, are divided by
    it. `cures_by_end`: the end of the variant's programs is the cure. `failure_seconds`: how much longer than in the
    mode's own experiment the failure lasts. `client`: one of `client_names`, if not the experiment's own.
    `has_provider`: workers are those of `broken`, each behind a provider of leadsman_clients. `settings` override those
    of the variant's workers.
    """

    mode: str
    variant: str
    scale: float
    cures_by_end: bool = False
    failure_seconds: float = 0.0
    client: str = ""
    has_provider: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The variant, and what is changed in it."""
        changes = [
            *(["leadsman_clients"] if self.has_provider else []),
            *(f"{k}={v}" for k, v in self.settings.items()),
        ]
        return " with ".join([self.variant, ", ".join(changes)] if changes else [self.variant])

    @property
    def name(self) -> str:
        """Its name on the command line, and among the saved figures."""
        return f"{self.mode}:{self.title.replace(' with ', ':')}"


def _idle(variant: str, *, has_provider: bool = False, **settings: str) -> AlertTrial:
    """Return a trial with Java producers, whose metrics the alerts read, or with providers of leadsman_clients."""
    client = "" if has_provider else "java"
    return AlertTrial(
        mode="idle_disconnect",
        variant=variant,
        scale=200,
        client=client,
        has_provider=has_provider,
        settings=settings,
    )


def _stale(variant: str, *, scale: float = 10, failure_seconds: float = 30) -> AlertTrial:
    """Return a trial whose failure lasts longer than the alert on it takes: 126 s and two minutes, at this scale.

    With Java clients: those of librdkafka wait up to 10 s between two connections, which no setting here scales.
    """
    return AlertTrial(
        mode="stale_neighbour", variant=variant, scale=scale, client="java", failure_seconds=failure_seconds
    )


TRIALS = (
    AlertTrial(mode="producer_id_leak", variant="broken", scale=60, cures_by_end=True),
    AlertTrial(mode="producer_id_leak", variant="broken_out_of_memory", scale=60, cures_by_end=True),
    AlertTrial(mode="producer_id_leak", variant="cured", scale=60, cures_by_end=True),
    AlertTrial(mode="producer_id_leak", variant="cured_late", scale=60, cures_by_end=True),
    AlertTrial(mode="producer_id_leak", variant="fleet", scale=60, cures_by_end=True),
    AlertTrial(mode="producer_id_leak", variant="big_records", scale=60, cures_by_end=True),
    AlertTrial(mode="producer_id_leak", variant="transactional", scale=60, cures_by_end=True),
    AlertTrial(mode="leaderless_partition", variant="broken", scale=12),
    AlertTrial(mode="leaderless_partition", variant="broken_frozen", scale=12),
    AlertTrial(mode="leaderless_partition", variant="broken_isr_lost", scale=12),
    AlertTrial(mode="leaderless_partition", variant="rolling_restart", scale=12),
    AlertTrial(mode="leaderless_partition", variant="own_exception", scale=12),
    AlertTrial(mode="leaderless_partition", variant="rebalance_storm", scale=12),
    AlertTrial(mode="leaderless_partition", variant="not_enough_replicas", scale=12),
    *(_idle(each) for each in ("broken", "broken_frozen")),
    replace(_idle("broken_silent"), scale=20),
    *(_idle(each) for each in ("broken_stalled", "cured")),
    _idle("cured", has_provider=True),
    *(_idle(each) for each in ("benign_close", "broker_restart")),
    _idle("broker_restart", retries="10"),
    *(_stale(each) for each in ("broken_healed", "broken", "broken_confirming", "broken_ipv6")),
    *(_stale(each, scale=60, failure_seconds=75) for each in ("cured", "wrong_entry_unused")),
    *(_stale(each) for each in ("syn_ack_dropped", "asymmetric_route", "queue_full", "syn_dropped")),
    *(_stale(each) for each in ("broker_stopped", "wrong_address", "black_hole")),
)
"""`producer_id_leak`: 30 s, the length of its runs, stand for the half hour that the rule looks back.
`leaderless_partition` and `idle_disconnect`: the scenario's own scale; but in `broken_silent` a record fails 5 s after
it was sent, which stand for 30 s: at scale 200 that exceeds the rule's short window, as it never does in production.
`stale_neighbour`: 10, the scale of its clients' timeouts. An hour without a full table is a minute at scale 60; the
rule on SYN_RECV is then the stricter."""
