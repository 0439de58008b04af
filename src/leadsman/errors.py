"""All errors that leadsman raises on purpose.

LeadsmanError                    what happened, where, and what to do next
├── UsageError                   wrong arguments of a call
│   ├── UnknownSetting           a name after --set that no detector has
│   └── UnknownMode              no folder of that name under modes/
├── CaptureError                 nothing to diagnose
├── MissingExtra                 an extra of the installation is not installed
├── TemplateError                a sentence of a card or a page names a figure that no detector reports
├── SparkError                   no Spark session could be started
├── NotificationFailed           a receiver did not accept a notification
└── LabError                     an experiment could not be set up
    ├── BrokerDidNotStart
    └── ProgramDidNotAnswer
"""

from __future__ import annotations

ISSUES = "https://github.com/leadsman/leadsman/issues"
"""Where to report a fault of leadsman."""


class LeadsmanError(Exception):
    """The base class. `str()` of an error is the message for the user."""


class UsageError(LeadsmanError):
    """Wrong arguments of a call."""


class UnknownSetting(UsageError):
    """A name after --set that no mode has."""


class UnknownMode(UsageError):
    """No folder of that name below modes/."""


class CaptureError(LeadsmanError):
    """The path holds nothing that can be diagnosed."""


class MissingExtra(LeadsmanError):
    """An extra of the installation is not installed."""


class TemplateError(LeadsmanError):
    """A template names a figure that is missing, or a format that the figure cannot have."""


class SparkError(LeadsmanError):
    """No Spark session could be started."""


class NotificationFailed(LeadsmanError):
    """A receiver did not accept a notification. `is_final`: another attempt is no use."""

    def __init__(self, reason: str, *, is_final: bool, status: int = 0) -> None:
        super().__init__(reason)
        self.is_final = is_final
        self.status = status
        self.retry_after_seconds = 0.0


class StateError(LeadsmanError):
    """The state of `leadsman watch` cannot be read, or is of another version."""


class LabError(LeadsmanError):
    """An experiment could not be set up."""


class BrokerDidNotStart(LabError):
    """A broker was started and did not become ready before its deadline."""


class ProgramDidNotAnswer(LabError):
    """A client program did not answer a command before its deadline."""
