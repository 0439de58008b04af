"""Instances as a cloud's inventory or a Terraform plan describes them, and what a mode objects to in their policies."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any

from leadsman.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GOOGLE = frozenset(
    {"google_compute_instance", "google_compute_instance_template", "google_compute_region_instance_template"}
)
"""Terraform's resources that say what becomes of an instance while its host is maintained."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One instance, or a template of many. `where` is how its file names it; what the file leaves open is None."""

    name: str
    where: str
    on_host_maintenance: str | None = None
    automatic_restart: bool | None = None
    preemptible: bool = False


@dataclass(frozen=True, slots=True)
class Objection:
    """A policy that should be another. `cure` is the command that changes it."""

    instance: Instance
    policy: str
    found: str
    wanted: str
    why: str
    cure: str


def instances(file: Path, pattern: str = "*") -> list[Instance]:
    """Return the instances whose names match. UsageError where the file is neither, or names none."""
    try:
        told = json.loads(file.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise UsageError(f"{file} is no JSON: {error}.") from error
    found = list(_of(told))
    if not found:
        raise UsageError(
            f"{file} names no instance. Give the output of gcloud compute instances list --format=json, "
            "or of terraform show -json PLAN."
        )
    chosen = [each for each in found if fnmatch(each.name, pattern)]
    if not chosen:
        raise UsageError(f"No instance in {file} is called {pattern}. There are: {_some(found)}.")
    return chosen


def _some(found: list[Instance], most: int = 8) -> str:
    names = [each.name for each in found]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _of(told: Any) -> Iterator[Instance]:  # noqa: ANN401 - whatever the JSON holds
    if isinstance(told, list):
        yield from (_google(each) for each in told if isinstance(each, dict) and "scheduling" in each)
    elif isinstance(told, dict):
        yield from _module((told.get("planned_values") or told.get("values") or {}).get("root_module") or {})


def _google(told: dict[str, Any]) -> Instance:
    scheduling = told.get("scheduling") or {}
    return Instance(
        name=str(told.get("name")),
        where=f"{str(told.get('zone') or '').rpartition('/')[2]}/{told.get('name')}".lstrip("/"),
        on_host_maintenance=scheduling.get("onHostMaintenance"),
        automatic_restart=scheduling.get("automaticRestart"),
        preemptible=bool(scheduling.get("preemptible")),
    )


def _module(module: dict[str, Any]) -> Iterator[Instance]:
    for resource in module.get("resources") or []:
        if resource.get("type") in GOOGLE:
            yield _planned(resource)
    for child in module.get("child_modules") or []:
        yield from _module(child)


def _planned(resource: dict[str, Any]) -> Instance:
    """Read a planned resource; one that names no scheduling gets the cloud's default, which the mode knows."""
    values = resource.get("values") or {}
    scheduling: dict[str, Any] = next(iter(values.get("scheduling") or []), {})
    return Instance(
        name=str(values.get("name") or values.get("name_prefix") or resource.get("name")),
        where=str(resource.get("address")),
        on_host_maintenance=scheduling.get("on_host_maintenance"),
        automatic_restart=scheduling.get("automatic_restart"),
        preemptible=bool(scheduling.get("preemptible")),
    )
