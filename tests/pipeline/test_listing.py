"""What a diagnosis lists besides its findings."""

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import Row

from leadsman import vocabulary as v
from leadsman.pipeline.listing import GROUPS_SHOWN, listing
from leadsman.telemetry.services import service_of

BEGAN = datetime(2026, 11, 18, 6, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


def told(name: str, first: datetime, last: datetime) -> Row:
    example = Row(file="a.log", line=2, at=first, text="", labels={"bytes": "10", "sources": "", "timed": "true"})
    return Row(name=name, group="a", count=1.0, first=first, last=last, explained_by=None, example=example)


@pytest.mark.parametrize(
    ("begins", "incident", "is_new"),
    [(BEGAN - HOUR, BEGAN, True), (BEGAN, BEGAN, False), (BEGAN - HOUR, BEGAN + HOUR, False), (BEGAN, None, False)],
    ids=["since the incident", "nothing lies before", "before the incident", "in the first half"],
)
def test_an_error_is_new_where_there_is_a_time_before_the_incident_without_it(begins, incident, is_new):
    span = told(v.SUBJECT_ACTIVE, begins, BEGAN + HOUR)

    found = listing([span, told(v.CONNECTION_RESET, BEGAN, BEGAN)], benign={}, incident=incident)

    assert [group.novel for group in found.unexplained] == [is_new]


@pytest.mark.parametrize(
    ("subject", "file", "service"),
    [
        ("ip-10-0-3-17", "hosts/orders/ip-10-0-3-17.log", "orders"),
        ("orders-7d9f8b6c5-x2x4z", "pods.log", "orders"),
        ("2026/11/18/[$LATEST]0a1b2c3d4e5f", "aws/lambda/link-webhook/0a1b2c3d.gz", "link-webhook"),
    ],
)
def test_a_service_is_what_people_call_it(subject, file, service):
    assert service_of(subject, file) == service


def test_errors_that_are_not_listed_are_counted():
    groups = [told(v.CONNECTION_RESET, BEGAN + at * HOUR, BEGAN + at * HOUR) for at in range(GROUPS_SHOWN + 2)]
    unlisted = told(v.ERRORS_UNLISTED, BEGAN, BEGAN)
    unlisted.example.labels["kinds"] = "9"

    found = listing([*groups, unlisted], benign={})

    assert len(found.unexplained) == GROUPS_SHOWN
    assert "Up to 11 further kinds of errors, 3 errors in all" in " ".join(found.notes)


def test_nothing_is_said_of_further_errors_where_all_are_listed():
    found = listing([told(v.CONNECTION_RESET, BEGAN, BEGAN)], benign={})

    assert found.notes == ()
