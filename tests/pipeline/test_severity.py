"""The title and the severity of an unexplained error."""

import pytest

from leadsman import vocabulary as v
from leadsman.pipeline.severity import SEVERITY_BY_EVENT, TITLES, ErrorSeverity, error_title, severity_of
from leadsman.telemetry.log_line import error_kind

JAVA = "2026-11-21 12:00:00,000 ERROR [main] com.acme.Orders - Could not store the order"
PYTHON = "2026-11-21 12:00:00,000 ERROR orders: could not store the order"


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        (
            [f"{JAVA}: org.apache.kafka.common.errors.TimeoutException: x"],
            "org.apache.kafka.common.errors.TimeoutException",
        ),
        ([JAVA, "java.lang.IllegalStateException: closed"], "java.lang.IllegalStateException"),
        (
            [
                JAVA,
                "java.util.concurrent.ExecutionException: org.apache.kafka.common.errors.RecordTooLargeException: big",
                "Caused by: org.apache.kafka.common.errors.RecordTooLargeException: big",
            ],
            "org.apache.kafka.common.errors.RecordTooLargeException",
        ),
        (
            [JAVA, "com.acme.OrderException: no", "Caused by: java.lang.NullPointerException: x"],
            "com.acme.OrderException",
        ),
        (
            [PYTHON, "Traceback (most recent call last):", "KeyError: 'id'", "kafka.errors.KafkaTimeoutError: late"],
            "kafka.errors.KafkaTimeoutError",
        ),
        (
            ["java.io.IOException: Connection to 10.0.0.7:9092 failed."],
            "java.io.IOException: Connection to <address> failed.",
        ),
        ([f"{PYTHON} KafkaError{{code=_MSG_TIMED_OUT,val=-192}}"], "KafkaError _MSG_TIMED_OUT"),
        ([PYTHON], "orders: could not store the order"),
    ],
    ids=["own line", "trace", "wrapped", "not only wrapped", "traceback", "general", "librdkafka", "no exception"],
)  # fmt: skip - a table
def test_an_errors_title_is_its_exception_or_else_its_message(lines, kind):
    assert error_kind(lines) == kind


@pytest.mark.parametrize(
    ("labels", "severity"),
    [
        ({"kind": "org.apache.kafka.common.errors.TopicAuthorizationException", "level": "WARN"}, ErrorSeverity.FATAL),
        (
            {"kind": "org.apache.kafka.common.errors.NotLeaderOrFollowerException", "level": "ERROR"},
            ErrorSeverity.RETRIED,
        ),
        ({"kind": "com.acme.OrderException", "level": "ERROR"}, ErrorSeverity.LOST),
        ({"kind": "com.acme.OrderException", "level": "WARN"}, ErrorSeverity.RETRIED),
        ({"kind": "The application went from ERROR to CLOSED", "level": "INFO"}, ErrorSeverity.NOISE),
        ({"kind": "panic", "level": "FATAL"}, ErrorSeverity.FATAL),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else value,
)
def test_an_unknown_error_has_the_severity_of_its_exception_or_else_its_level(labels, severity):
    assert severity_of(v.ERROR, labels) is severity


def test_a_clients_failed_log_directory_is_retried_on_another_broker():
    assert severity_of(v.LOG_DIR_FAILED, {"client_id": "producer-1"}) is ErrorSeverity.RETRIED
    assert severity_of(v.LOG_DIR_FAILED, {"dir": "/d1"}) is ErrorSeverity.FATAL


def test_only_a_refused_connection_is_called_refused():
    assert (
        error_title(v.CONNECTION_REFUSED, {}, "Connection to node 3 could not be established")
        == (TITLES[v.CONNECTION_FAILED])
    )
    assert error_title(v.CONNECTION_REFUSED, {}, "returned error 111.") == TITLES[v.CONNECTION_REFUSED]


def test_retried_errors_are_less_severe_than_lost_and_fatal_ones():
    assert severity_of(v.PRODUCE_RETRIED, {}) is ErrorSeverity.RETRIED
    assert severity_of(v.RECORD_EXPIRED, {}) is ErrorSeverity.LOST
    assert severity_of(v.PROCESS_KILLED, {}) is ErrorSeverity.FATAL


def test_no_name_of_an_event_is_shown_as_a_kind():
    unnamed = set(SEVERITY_BY_EVENT) - set(TITLES)

    assert unnamed == set()
    assert error_title(v.CONNECTION_LOST, {}, "something was lost") == TITLES[v.CONNECTION_LOST]
