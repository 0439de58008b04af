"""What a message about a change holds, also about many at once; and messages as JSON, to be sent after a restart."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from leadsman.model import Diagnosis, Life
from leadsman.report.message.message import FindingMessage, ProofLine, message_about, plain
from leadsman.words import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leadsman.watch.finding_changes import FindingChange, KnownFinding

PREFIXES = {Life.WORSE: "Worse: ", Life.RESOLVED: "Resolved: ", Life.REOPENED: "Again: "}

MODES_NAMED = 4
CAPTURES_NAMED = 3

PAGE_KEY = "link"
"""The key of the page's location in an outbox. It keeps this name: messages of an earlier watch can wait there."""


def message_of_change(change: FindingChange, known: KnownFinding, *, page_url: str = "") -> FindingMessage:
    """Return the message about one change. What to do is left out where it is over."""
    diagnosis = Diagnosis(path=change.path, cluster=change.cluster, verdicts={})
    if known.finding is None:
        message = FindingMessage(
            mode=change.mode,
            title=plain(change.title),
            path=plain(change.path),
            cluster=plain(change.cluster or ""),
            do_now=(),
            proof=(),
            page_url=page_url,
        )
    else:
        message = message_about(diagnosis, known.finding, page_url=page_url)
    title = plain(f"{PREFIXES.get(change.life, '')}{change.title}")
    changed = replace(message, title=title, since=change.since, until=change.until, reference=change.key)
    return replace(changed, do_now=(), proof=(), impact="") if change.life is Life.RESOLVED else changed


def message_of_many(messages: Sequence[FindingMessage], life: Life, *, key: str, ended: int = 0) -> FindingMessage:
    """Return one message about many findings: how many of which mode where, and the steps of the first.

    `ended`: how many had been reported at once, where these are the last of them to end.
    """
    if ended:
        title = f"Resolved: the last of {count(ended, 'finding|findings')} that were reported at once"
        return replace(messages[-1], title=title, reference=key)
    if len(messages) == 1:
        return replace(messages[0], reference=key)
    modes = Counter(each.mode for each in messages)
    named = ", ".join(f"{mode} ({number})" for mode, number in modes.most_common(MODES_NAMED))
    more = f" and {len(modes) - MODES_NAMED} more modes" if len(modes) > MODES_NAMED else ""
    captures = list(dict.fromkeys(each.path for each in messages))
    others = f" and {len(captures) - CAPTURES_NAMED} more" if len(captures) > CAPTURES_NAMED else ""
    first = messages[0]
    return replace(
        first,
        mode=next(iter(modes)) if len(modes) == 1 else "several modes",
        title=plain(f"{PREFIXES.get(life, '')}{count(len(messages), 'finding|findings')} at once: {named}{more}"),
        path=plain(", ".join(captures[:CAPTURES_NAMED]) + others),
        cluster=", ".join(sorted({each.cluster for each in messages if each.cluster})[:CAPTURES_NAMED]),
        since=min((each.since for each in messages if each.since), default=None),
        until=max((each.until for each in messages if each.until), default=None),
        reference=key,
    )


def message_json(message: FindingMessage) -> str:
    """Return a message as JSON."""
    fields = asdict(message)
    fields[PAGE_KEY] = fields.pop("page_url")
    return json.dumps(fields, default=datetime.isoformat)


def message_from_json(text: str) -> FindingMessage:
    """Return the message that was written as JSON."""
    fields: dict[str, Any] = json.loads(text)
    page_url = fields.pop(PAGE_KEY)
    times = {name: datetime.fromisoformat(fields[name]) if fields[name] else None for name in ("since", "until")}
    proof = tuple(ProofLine(**each) for each in fields["proof"])
    own = {"do_now": tuple(fields["do_now"]), "proof": proof, "page_url": page_url}
    return FindingMessage(**{**fields, **times, **own})
