"""What Alertmanager sends to a webhook: https://prometheus.io/docs/alerting/latest/configuration/#webhook_config."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from leadsman import vocabulary as v
from leadsman.telemetry.outputs.json_times import milliseconds
from leadsman.telemetry.outputs.json_value_lines import ValueLines, read_document
from leadsman.telemetry.outputs.parser import EventColumns, OutputParser
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leadsman.telemetry.outputs.parser import OutputContext

BEGINS = re.compile(rb"[\xef\xbb\xbf\s]*\{")
WORDS = (b'"alerts"', b'"groupKey"')
LABELS = ("severity", "instance", "job", "cluster")
EVENTS = {"firing": v.ALERT_FIRING, "resolved": v.ALERT_RESOLVED}


def matches_head(head: bytes) -> bool:
    """Whether a document begins as a webhook's."""
    return bool(BEGINS.match(head)) and all(word in head for word in WORDS)


def parse(blocks: Iterable[bytes], context: OutputContext) -> Iterator[EventColumns]:
    """Parse the alerts of a document."""
    text = read_document(blocks)
    value_lines = ValueLines(text)
    for alert in json.loads(text)["alerts"]:
        about = alert["labels"]
        name = str(about["alertname"])
        yield _event(alert, about, name, line_and_text=value_lines.find(name), at=context.at)


def _event(
    alert: dict[str, Any], about: dict[str, Any], name: str, *, line_and_text: tuple[int, str], at: int | None
) -> EventColumns:
    event = EVENTS[alert["status"]]
    own_at = milliseconds(alert.get("startsAt" if event == v.ALERT_FIRING else "endsAt"))
    own = {"alert": name, **{each: str(about[each]) for each in LABELS if about.get(each)}}
    return EventColumns(
        name=event,
        lines=(line_and_text[0],),
        texts=(line_and_text[1],),
        labels={label: (text,) for label, text in own.items()},
        at=(at if own_at is None else own_at,),
    )


SOURCE = Source(
    "alertmanager",
    "Alertmanager's webhook",
    "state",
    parser=OutputParser(matches=matches_head, parse=parse, event_names=frozenset(EVENTS.values())),
)
