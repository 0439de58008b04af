"""A condition: what is wrong with a cluster, its clients or hosts, whether or not a failure mode explains the cause."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from leadsman.model.finding import Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One kind of fault and all its subjects. A condition is a fact and no verdict.

    `kind` is one of `pipeline.conditions.kinds`; `severity` is 1 for the worst. `ongoing`: the last look still showed
    the fault. `until` is None where the fault is ongoing, and where no line of it carries a time. `count` counts the
    subjects, `subjects` names some of them. Of a kind that happens at an instant, such as a restart, `since` and
    `until` are the first and the last instant.
    """

    kind: str
    title: str
    severity: int
    ongoing: bool
    count: int
    subjects: tuple[str, ...]
    since: datetime | None = None
    until: datetime | None = None
    figures: Mapping[str, float | str] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
