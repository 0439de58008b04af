"""Policies of a broker's host that lead to this failure: a live migration freezes a broker that leads partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.cloud import PolicyAdvice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.gate.cloud import Instance

DEFAULT_MAINTENANCE = "MIGRATE"
"""Google's default. Instances with accelerators and spot instances are always terminated."""

WHY_TERMINATE = (
    "A live migration freezes the broker: its connections stay open, and the broker remains leader and coordinator "
    "meanwhile. A broker that shuts down moves its leaders to other brokers first."
)
WHY_RESTART = "After the maintenance the instance stays down, and its partitions lack a replica."
SET = "gcloud compute instances set-scheduling"


def check(instance: Instance) -> Iterator[PolicyAdvice]:
    """Advise against live migration, and against an instance that does not restart."""
    policy = instance.on_host_maintenance or DEFAULT_MAINTENANCE
    if policy != "TERMINATE":
        current = policy if instance.on_host_maintenance else f"not set, so {policy}"
        cure = f"{SET} {instance.name} --maintenance-policy=TERMINATE"
        yield PolicyAdvice(instance, "onHostMaintenance", current, "TERMINATE", WHY_TERMINATE, cure)
    if instance.automatic_restart is False:
        cure = f"{SET} {instance.name} --restart-on-failure"
        also = " Preemptible instances never restart: use another instance type." if instance.preemptible else ""
        yield PolicyAdvice(instance, "automaticRestart", "false", "true", WHY_RESTART + also, cure)
