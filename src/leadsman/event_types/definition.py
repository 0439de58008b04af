"""What an event of one name carries: its meaning, its value with the unit, and its labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

COMMON_LABELS = {
    "client_id": "the Kafka client that the line names",
    "value": "the value as the line writes it",
}
"""Labels that any event of a log line may carry (`Signature.read` adds them)."""


@dataclass(frozen=True, slots=True)
class EventType:
    """Declares one event name. Emitters and detectors are checked against the declarations.

    `value` says what the event's value counts or measures, in `unit`; an event without either has no value.
    `labels` gives the meaning of each label. With `open_labels` the event also carries labels of its own making, as a
    metric does. `text` says what the event's text is where it is not the literal line.
    """

    name: str
    meaning: str
    value: str = ""
    unit: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    open_labels: bool = False
    text: str = ""

    def allows(self, label: str) -> bool:
        """Whether an event of this type may carry the label."""
        return self.open_labels or label in self.labels or label in COMMON_LABELS
