"""From looks at processors to hosts whose hypervisor kept them from running near the loss, and not before.

A neighbour that steals all day is no maintenance. So a look counts only where it shows much more than was usual on the
same host before the loss; of a host that nobody looked at before, it is not known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names

if TYPE_CHECKING:
    from collections.abc import Mapping

SHOWN = 40
"""Looks of a capture that are drawn, those with most stolen time first: a chart has no room for more."""

TOLD = f"""
    SELECT capture, coalesce(subject, file) AS host, source, labels['cpu'] AS cpu, at,
        to_timestamp(labels['since']) AS told_since, value, file, line, text
    FROM events WHERE name = '{names.HOST_STOLEN}' AND at IS NOT NULL
"""
"""No more than is needed: a fleet's processors, looked at for an hour, are what sorting them has to hold."""

LOOKS = """
    SELECT capture, host, source, at, coalesce(told_since, lag(at) OVER earlier) AS since,
        IF(told_since IS NULL, value - lag(value) OVER earlier, value) AS seconds,
        file, line, text,
        IF(told_since IS NULL, lag(line) OVER earlier, NULL) AS line_before, lag(text) OVER earlier AS text_before
    FROM hosts_told WINDOW earlier AS (PARTITION BY capture, host, source, cpu ORDER BY at, line)
"""
"""What was stolen between two looks at a counter. Other looks tell themselves since when they count."""

LASTED = "CAST(at AS DOUBLE) - CAST(since AS DOUBLE)"
SHARES = f"""
    SELECT capture, host, source, since, at, avg(seconds) AS seconds, avg(seconds) / ({LASTED}) AS share,
        max_by(struct(file, line_before, text_before, line, text), seconds) AS most
    FROM looks WHERE since < at AND seconds >= 0 GROUP BY capture, host, source, since, at
"""
"""Over all processors of a host. A counter that went back began anew, as with a restart."""

WEIGHED = f"""
    SELECT *,
        percentile(IF(at <= struck_at, share, NULL), 0.9) OVER of_host AS usual,
        sum(IF(at <= struck_at, {LASTED}, 0)) OVER of_host AS looked
    FROM shares JOIN struck USING (capture) WINDOW of_host AS (PARTITION BY capture, incident, host, source)
"""
"""Usual is what nine of ten looks before the loss stayed below: a neighbour may steal in bursts."""

QUOTED = """
    array(
        struct(most.file, most.line_before AS line, since AS at, most.text_before AS text),
        struct(most.file, most.line, at, most.text)
    )
"""

DRAWN = f"""
    transform(
        slice(sort_array(collect_list(struct(share, host, since, at)), false), 1, {SHOWN}),
        s -> IF(s IS NULL, NULL, struct(
            concat('host ', s.host) AS subject, IF(s.host IS NULL, NULL, 'kept waiting') AS outcome,
            s.since, s.at, s.share AS value))
    )
"""


def stolen_of(*, near: float, share: float, times: float, history: float) -> Mapping[str, str]:
    """Return the steps from `events` and `struck` to `stolen`: one row for each incident in which it stands out."""
    away = f"make_interval(0, 0, 0, 0, 0, 0, {near})"
    return {
        "hosts_told": TOLD,
        "looks": LOOKS,
        "shares": SHARES,
        "weighed": WEIGHED,
        "stolen": f"""
            SELECT capture, incident,
                max_by(host, share) AS stolen_from,
                max_by(seconds, share) AS stolen,
                max_by({LASTED}, share) AS stolen_of,
                filter(max_by({QUOTED}, share), l -> l.line IS NOT NULL) AS stolen_lines,
                {DRAWN} AS stolen_at
            FROM weighed
            WHERE since >= struck_at - {away} AND at <= struck_at + {away}
                AND looked >= {history}D AND share >= {share}D AND share >= {times}D * usual
            GROUP BY capture, incident
        """,
    }
