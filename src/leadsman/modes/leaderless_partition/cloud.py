"""Which policies of a broker's host invite it: a broker that is migrated live is frozen, and keeps its leaders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.cloud import Objection

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.gate.cloud import Instance

DEFAULT_MAINTENANCE = "MIGRATE"
"""Google's, where nothing is said. Instances with accelerators and spot instances are always terminated."""

WHY_TERMINATE = (
    "A live migration freezes the broker: its connections stay open, and the cluster takes it for leader and "
    "coordinator meanwhile. A broker that ends in order hands its partitions over first."
)
WHY_RESTART = "Nobody starts it again after the maintenance: its partitions stay without one of their replicas."
SET = "gcloud compute instances set-scheduling"


def check(instance: Instance) -> Iterator[Objection]:
    """Object to live migration, and to an instance that does not come back."""
    found = instance.on_host_maintenance or DEFAULT_MAINTENANCE
    if found != "TERMINATE":
        said = found if instance.on_host_maintenance else f"not set, so {found}"
        cure = f"{SET} {instance.name} --maintenance-policy=TERMINATE"
        yield Objection(instance, "onHostMaintenance", said, "TERMINATE", WHY_TERMINATE, cure)
    if instance.automatic_restart is False:
        cure = f"{SET} {instance.name} --restart-on-failure"
        also = " It is preemptible, and such instances never are: take another kind." if instance.preemptible else ""
        yield Objection(instance, "automaticRestart", "false", "true", WHY_RESTART + also, cure)
