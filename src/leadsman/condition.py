"""What is wrong with a cluster, its clients or hosts, whether or not a failure mode knows why: a fact, no verdict."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from leadsman.model import Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One kind of trouble, and everybody who had it.

    `kind` is one of `pipeline.conditions.kinds`; `severity` is 1 for the worst. `stands`: it was still so when it was
    looked at last; `until` is None then, and where no line that tells of it carries a time. `count` counts who had it,
    `subjects` names some of them. Of what happens at a moment, such as a restart, `since` and `until` are the first
    and the last time.
    """

    kind: str
    title: str
    severity: int
    stands: bool
    count: int
    subjects: tuple[str, ...]
    since: datetime | None = None
    until: datetime | None = None
    figures: Mapping[str, float | str] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
