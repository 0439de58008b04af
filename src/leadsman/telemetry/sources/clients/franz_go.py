"""franz-go, the other Go client, through its own logger, logfmt or zap."""

from __future__ import annotations

from leadsman import vocabulary as v
from leadsman.telemetry.source import Signature, Source

SOURCE = Source(
    "franz_go",
    "franz-go",
    "client",
    (
        Signature(
            v.CONNECTION_LOST,
            r"read from broker errored, killing connection[^\n]{0,300}(?P<error>\bEOF\b|reset by peer|broken pipe)",
        ),
        Signature(v.CONNECTION_LOST, r"the broker connection has died and the request will be retried"),
        Signature(v.CONNECTION_REFUSED, r"unable to open connection to broker[^\n]{0,300}connection refused"),
        Signature(v.CONNECTION_SETUP_TIMED_OUT, r"unable to open connection to broker[^\n]{0,300}i/o timeout"),
        Signature(
            v.NAME_UNRESOLVED, r"unable to open connection to broker[^\n]{0,300}no such host", names_source=False
        ),
        Signature(v.RECORD_EXPIRED, r"records have timed out before they were able to be produced"),
        Signature(v.RECORD_FAILED, r"record failed after being retried too many times"),
        Signature(v.AUTHENTICATION_FAILED, r"unable to initialize sasl"),
        Signature(v.COMMIT_FAILED, r"unable to commit offsets? for topic partition"),
    ),
)
