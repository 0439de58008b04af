"""Dates and times as SQL: complete, and between 1900 and a year after the day after the record came; null otherwise."""

from __future__ import annotations

from typing import Final

DAY: Final = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
TIME: Final = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})?"

FIRST: Final = "1900-01-01"
"""Banks' own placeholders are older: 0001-01-01, 0000-01-01, 1899-12-31."""


def exact_date(text: str) -> str:
    """Return SQL of a text as a date. Of a time the date counts that the bank wrote, in its own time zone.

    The latest date depends on when the record came and not on today: a rebuild gives the same rows.
    """
    date = f"case when {text} rlike r'\\A{DAY}(T{TIME})?\\z' then try_cast(substr({text}, 1, 10) as date) end"
    return f"case when {date} between date'{FIRST}' and {_last()} then {date} end"


def exact_time(text: str) -> str:
    """Return SQL of a text as a timestamp; a time without a zone is UTC."""
    time = f"case when {text} rlike r'\\A{DAY}T{TIME}\\z' then try_cast({text} as timestamp) end"
    return f"case when cast({time} as date) between date'{FIRST}' and {_last()} then {time} end"


def _last() -> str:
    return "add_months(date_add(cast(received_at as date), 1), 12)"
