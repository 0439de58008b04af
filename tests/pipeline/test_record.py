"""What is remembered of an error's message is what taking its lines apart says."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from leadsman.pipeline.read.records import EventExtractor
from leadsman.telemetry.log_line import error_kind, normalise, one_line_error, split_line

LAYOUTS = (
    "2026-11-17 00:35:38 {} ERROR Handler - java.lang.IllegalStateException: {} failed",
    "[ERROR]\t2026-11-17T00:35:38.395Z\t{}\tTask {} timed out",
    "2026-11-17T00:35:38.395Z\t{}\tERROR\tInvoke Error {}",
    "{} - kafka.conn - ERROR - closed by {}",
    "ERROR:app:{}",
    '{{"level": "ERROR", "message": "request {} of {}"}}',
    "ERROR com.example.Runner - java.lang.RuntimeException: id={} and '{}'",
    "level=error msg={}",
    "{}",
    "ERROR {}.{} x-{} {}- a{}",
    "ERROR " + "long " * 57 + "{}",
    "ERROR " + "long " * 80 + "{}",
    "java.lang.IllegalStateException: {}",
)
ids = st.one_of(
    st.uuids().map(str),
    st.uuids().map(lambda each: str(each).upper()),
    st.integers(0, 10**32 - 1).map(lambda digits: str(UUID(f"{digits:032d}"))),
    st.sampled_from(("", "12", "deadbeef", "10.0.0.1:9092")),
)
lines = st.builds(
    lambda layout, those: layout.format(*those), st.sampled_from(LAYOUTS), st.lists(ids, min_size=5, max_size=5)
)


@settings(max_examples=300, deadline=None)
@given(errors=st.lists(st.lists(lines, min_size=1, max_size=3), min_size=2, max_size=12))
def test_messages_are_remembered_without_the_ids_of_requests(errors):
    extractor = EventExtractor("capture")

    found = [extractor._message(each) for each in errors]

    assert found == [(error_kind(each), normalise(each[0])) for each in errors]


@settings(max_examples=300, deadline=None)
@given(line=lines)
def test_an_error_alone_on_its_line_has_the_kind_and_message_of_any_error(line):
    error = one_line_error(line)

    assert error == (error_kind([line]), normalise(line), split_line(line).level)


def test_errors_of_two_requests_are_taken_apart_once():
    extractor = EventExtractor("capture")

    for request in ("611855e6-8c68-4843-afa7-7820c5e24327", "c652cc47-2d0e-4bf4-95b8-eb922f889f25"):
        extractor._message([f"2026-11-17 00:35:38 {request} ERROR Handler - no such order {request}"])

    assert len(extractor.messages) == 1


COLLECTED = (
    "1794907081151\t",
    "2026-11-17T00:45:26.028000+00:00 2026/11/17/[$LATEST]6fd5457e93457c483315cd057829762b ",
    "2026-11-17T00:45:26.028000000Z stderr F ",
    "Feb 16 12:36:02 host-1 app[123]: ",
    "<34>Feb  6 12:36:02.123 host-1 app: ",
)


@settings(max_examples=300, deadline=None)
@given(line=lines, collected=st.sampled_from(COLLECTED))
def test_a_collector_does_not_change_an_error(line, collected):
    assert one_line_error(collected + line) == one_line_error(line)


def test_a_severity_that_librdkafka_does_not_have_is_text():
    assert split_line("%3|1613433600.123|FAIL|rdkafka#producer-1| [thrd]: down").level == "ERROR"
    assert split_line("%9|1613433600.123|FAIL|rdkafka#producer-1| [thrd]: down").level == ""
