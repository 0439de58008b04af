"""Topics that brokers create for any name, with one replica."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.documents.tools.terraform import MSK
from leadsman.gate.facts import Facts, Match
from leadsman.gate.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.gate.facts import ConfigResource

AUTO_CREATE = "auto.create.topics.enable"
REPLICATION_FACTOR = "default.replication.factor"


def _find(facts: Facts) -> Iterator[Match]:
    seen: set[str] = set()
    for resource in facts.resources:
        setting = resource.known(AUTO_CREATE) if resource.is_kind("broker") else None
        if setting is None or str(setting.value).lower() != "true" or not _gets_one_replica(facts, resource):
            continue
        if resource.cluster and resource.cluster in seen:
            continue  # the same setting of another broker of the cluster
        seen.add(resource.cluster)
        among = f" on {resource.brokers} brokers" if resource.brokers else ""
        without = f"{setting.written}=true{among} without {REPLICATION_FACTOR}"
        message = f"{without}: a topic that any client names gets one replica"
        yield Match(span=setting.span, message=message, replacement="false", replacement_span=setting.value_span)


def _gets_one_replica(facts: Facts, resource: ConfigResource) -> bool:
    """Whether Kafka's default of one replica applies on several brokers. MSK has another default."""
    several = facts.is_cluster or (resource.brokers or 1) > 1
    return several and REPLICATION_FACTOR not in resource.settings and resource.cluster != MSK


RULE = Rule(
    title="Topics created with one replica for any name",
    why="A client that reads or writes a topic that does not exist, also by a mistyped name, creates it. With Kafka's"
    " default of one replica its partitions have no leader while their broker is unavailable; and every such topic"
    " costs heap on the brokers and time in each failover.",
    fix=f"Set {AUTO_CREATE}=false and create topics on purpose; at least set {REPLICATION_FACTOR}=3.",
    find=_find,
)
