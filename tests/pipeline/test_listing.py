"""What a diagnosis lists besides its findings."""

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import Row

from leadsman import vocabulary as v
from leadsman.pipeline.listing import GROUPS_SHOWN, listing
from leadsman.telemetry.services import service_name

BEGAN = datetime(2026, 11, 18, 6, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


def listed_row(name: str, first: datetime, last: datetime) -> Row:
    example = Row(file="a.log", line=2, at=first, text="", labels={"bytes": "10", "sources": "", "timed": "true"})
    return Row(name=name, group="a", count=1.0, first=first, last=last, explained_by=None, example=example)


@pytest.mark.parametrize(
    ("begins", "incident", "is_new"),
    [(BEGAN - HOUR, BEGAN, True), (BEGAN, BEGAN, False), (BEGAN - HOUR, BEGAN + HOUR, False), (BEGAN, None, False)],
    ids=["since the incident", "nothing lies before", "before the incident", "in the first half"],
)
def test_an_error_is_new_if_it_first_came_after_the_incident_began(begins, incident, is_new):
    span = listed_row(v.SUBJECT_ACTIVE, begins, BEGAN + HOUR)

    found = listing([span, listed_row(v.CONNECTION_RESET, BEGAN, BEGAN)], benign={}, incident=incident)

    assert [group.is_new for group in found.unexplained] == [is_new]


@pytest.mark.parametrize(
    ("subject", "file", "service"),
    [
        ("ip-10-0-3-17", "hosts/orders/ip-10-0-3-17.log", "orders"),
        ("orders-7d9f8b6c5-x2x4z", "pods.log", "orders"),
        ("2026/11/18/[$LATEST]0a1b2c3d4e5f", "aws/lambda/link-webhook/0a1b2c3d.gz", "link-webhook"),
    ],
)
def test_a_service_has_its_common_name(subject, file, service):
    assert service_name(subject, file) == service


def test_errors_that_are_not_listed_are_counted():
    groups = [listed_row(v.CONNECTION_RESET, BEGAN + at * HOUR, BEGAN + at * HOUR) for at in range(GROUPS_SHOWN + 2)]
    unlisted = listed_row(v.ERRORS_UNLISTED, BEGAN, BEGAN)
    unlisted.example.labels["kinds"] = "9"

    found = listing([*groups, unlisted], benign={})

    assert len(found.unexplained) == GROUPS_SHOWN
    assert "Up to 11 further kinds of errors, 3 errors in all" in " ".join(found.notes)


def test_there_is_no_note_where_all_errors_are_listed():
    found = listing([listed_row(v.CONNECTION_RESET, BEGAN, BEGAN)], benign={})

    assert found.notes == ()
