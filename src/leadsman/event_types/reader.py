"""What the reader itself reports of files, writers and errors that no signature knows."""

from leadsman import vocabulary as names
from leadsman.event_types.definition import EventType

EVENTS = (
    EventType(
        names.ITEM_NOT_COLLECTED,
        "An item that a collection requested and did not get.",
        labels={"command": "the command", "what": "the item", "exit": "the exit status", "broker": "the broker's id"},
        text="what and why",
    ),
    EventType(
        names.FILE_READ,
        "One file was read.",
        value="how many lines",
        unit="lines",
        labels={
            "bytes": "bytes read, decompressed",
            "format": "the formats, outermost first",
            "sources": "the sources whose lines the file holds",
            "shows": "what the file can show beside its sources (`vocabulary.SHOWS`)",
            "timed": "whether any line has a time",
            "zoned": "whether the times name a zone",
            "first": "the first time (ISO)",
            "last": "the last time (ISO)",
            "dated_by": "`name` where the times are those in the file's name",
            "order": "`none` where the times run back and forth",
        },
    ),
    EventType(
        names.FILE_NOT_UNDERSTOOD,
        "A file, or a part of one, could not be read.",
        labels={"bytes": "the file's size", "command": "the command", "what": "the section", "exit": "its status"},
        text="why",
    ),
    EventType(
        names.SUBJECT_ACTIVE,
        "When one subject wrote lines in one file: from the event's time to `until`.",
        value="how many lines",
        unit="lines",
        labels={"until": "ISO time of the last line", "floor_seconds": "gaps shorter than this are not listed"},
    ),
    EventType(
        names.SUBJECT_IDLE,
        "A gap in which a subject wrote no line; the event's time is the gap's end.",
        value="the gap",
        unit="seconds",
        labels={
            "since": "the gap's start (ISO time)",
            "before_line": "the number of the last line before the gap",
            "before_text": "that line",
            "before_file": "its file",
        },
    ),
    EventType(
        names.ERROR,
        "Errors that no signature knows, grouped by kind and message.",
        value="how many",
        unit="errors",
        labels={
            "kind": "the exception or the level",
            "message": "the message without what differs",
            "level": "the log level",
            "until": "ISO time of the last one",
            "error": "the exception's name",
        },
    ),
    EventType(
        names.ERRORS_UNLISTED,
        "Errors of kinds beyond the number that is kept.",
        value="how many",
        unit="errors",
        labels={"kinds": "how many kinds", "until": "ISO time of the last one"},
    ),
)
