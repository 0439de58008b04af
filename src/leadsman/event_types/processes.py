"""What a client's process, a serverless platform or a runtime logs about itself."""

from leadsman import vocabulary as names
from leadsman.event_types.definition import EventType

INVOCATION = {"function": "the function's name", "request": "the request's id"}

EVENTS = (
    EventType(
        names.CLIENT_STARTED,
        "A Kafka client was created.",
        labels={
            "client": "producer, consumer, admin",
            "library": "the client library",
            "version": "the library's version",
        },
    ),
    EventType(
        names.WORKER_STARTED,
        "A serverless platform created a worker's process: a cold start.",
        labels={"runtime": "the platform's runtime version"},
    ),
    EventType(names.INVOCATION_STARTED, "A serverless worker received an event.", labels=INVOCATION),
    EventType(
        names.INVOCATION_ENDED,
        "A serverless worker finished an event; the platform may freeze its process until the next one.",
        value="how long the invocation took",
        unit="seconds",
        labels=INVOCATION,
    ),
    EventType(
        names.INVOCATION_TIMED_OUT,
        "A serverless platform killed a worker in the middle of an event.",
        value="the invocation's timeout",
        unit="seconds",
    ),
    EventType(
        names.GC_PAUSED,
        "A Java runtime paused its threads to collect garbage.",
        value="the pause",
        unit="seconds",
        labels={
            "kind": "Pause Full, GC and the like",
            "before": "the heap's use before",
            "after": "the heap's use after",
            "size": "the heap's size",
            "unit": "K, M or G, of the three",
        },
    ),
    EventType(
        names.MEMORY_EXHAUSTED, "A Java runtime ran out of memory.", labels={"reason": "as OutOfMemoryError says"}
    ),
    EventType(
        names.HEAP_DUMPED,
        "A Java runtime wrote its heap to a file.",
        labels={"dump": "the file", "bytes": "the file's size"},
    ),
    EventType(
        names.RUNTIME_OUT_OF_MEMORY,
        "A runtime other than Java's ran out of memory.",
        labels={"runtime": "node, python, go"},
    ),
)
