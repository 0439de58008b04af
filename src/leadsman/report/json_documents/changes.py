"""Writes what changed as JSON: the document "leadsman.changes/1"."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from leadsman.report.json_documents.findings import change_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leadsman.model import Changes

SCHEMA = "leadsman.changes/1"


def changes_json(changes: Changes, sides: Mapping[str, Any]) -> str:
    """Return the document as text, in ASCII. `sides` says what before and after are: two times, or two captures."""
    document = {
        "schema": SCHEMA,
        **sides,
        "compared": list(changes.compared),
        "not_comparable": [
            {"kind": kind, "before": before, "after": after} for kind, before, after in changes.not_comparable
        ],
        "uncollected": [{"kind": kind, "count": number} for kind, number in changes.uncollected],
        "changes": [change_json(change) for change in changes.changes],
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"
