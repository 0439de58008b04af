"""Instances of a cloud inventory or a Terraform plan, and advice of modes on their maintenance policies."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any

from leadsman.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GOOGLE_RESOURCES = frozenset(
    {"google_compute_instance", "google_compute_instance_template", "google_compute_region_instance_template"}
)
"""Terraform's resources that hold a host maintenance policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """An instance, or a template of many. `location` is its name in the file. A policy that is not set is None."""

    name: str
    location: str
    on_host_maintenance: str | None = None
    automatic_restart: bool | None = None
    preemptible: bool = False


@dataclass(frozen=True, slots=True)
class PolicyAdvice:
    """A policy that should change. `cure` is the command that changes the policy."""

    instance: Instance
    policy: str
    current: str
    recommended: str
    why: str
    cure: str


def read_instances(file: Path, pattern: str = "*") -> list[Instance]:
    """Return the instances whose names match. UsageError for another kind of file, and where no name matches."""
    try:
        listed = list(_instances(json.loads(file.read_text(encoding="utf-8-sig"))))
    except ValueError as error:
        raise UsageError(f"{file} is not JSON: {error}.") from error
    except RecursionError as error:
        raise UsageError(f"{file} cannot be read: nested too deeply.") from error
    except (AttributeError, LookupError, TypeError):  # JSON of another kind
        listed = []
    if not listed:
        raise UsageError(
            f"{file} names no instance. Give the output of gcloud compute instances list --format=json, "
            "or of terraform show -json PLAN."
        )
    matching = [each for each in listed if fnmatch(each.name, pattern)]
    if not matching:
        raise UsageError(f"No instance in {file} matches {pattern}. There are: {_first_names(listed)}.")
    return matching


def _first_names(current: list[Instance], most: int = 8) -> str:
    names = [each.name for each in current]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _instances(document: Any) -> Iterator[Instance]:  # noqa: ANN401 - whatever the JSON holds
    if isinstance(document, list):
        yield from (_from_gcloud(each) for each in document if isinstance(each, dict) and "scheduling" in each)
    elif isinstance(document, dict):
        yield from _terraform_instances(
            (document.get("planned_values") or document.get("values") or {}).get("root_module") or {}
        )


def _from_gcloud(instance: dict[str, Any]) -> Instance:
    scheduling = instance.get("scheduling") or {}
    return Instance(
        name=str(instance.get("name")),
        location=f"{str(instance.get('zone') or '').rpartition('/')[2]}/{instance.get('name')}".lstrip("/"),
        on_host_maintenance=scheduling.get("onHostMaintenance"),
        automatic_restart=scheduling.get("automaticRestart"),
        preemptible=bool(scheduling.get("preemptible")),
    )


def _terraform_instances(module: dict[str, Any]) -> Iterator[Instance]:
    for resource in module.get("resources") or []:
        if resource.get("type") in GOOGLE_RESOURCES:
            yield _from_terraform(resource)
    for child in module.get("child_modules") or []:
        yield from _terraform_instances(child)


def _from_terraform(resource: dict[str, Any]) -> Instance:
    """Read a planned resource. Without a scheduling block the cloud's default applies, which the mode knows."""
    values = resource.get("values") or {}
    scheduling: dict[str, Any] = next(iter(values.get("scheduling") or []), {})
    return Instance(
        name=str(values.get("name") or values.get("name_prefix") or resource.get("name")),
        location=str(resource.get("address")),
        on_host_maintenance=scheduling.get("on_host_maintenance"),
        automatic_restart=scheduling.get("automatic_restart"),
        preemptible=bool(scheduling.get("preemptible")),
    )
