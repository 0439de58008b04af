"""Every error that leadsman.clients raises on purpose.

ClientsError                     what went wrong, where, and what to do next
├── ProviderClosed               asked for an instance after close()
├── NoInstance                   no live instance could be had
│   ├── CreationFailed           the creator raised; its error is the cause
│   └── CreationTimedOut         the creator, or the wait for it, took too long
├── LeaseMisused                 a lease was released twice, or used after its release
├── ContradictsPath              a setting that the path makes dangerous
├── NotDelivered                 a record's delivery report was an error, or did not come in time
├── RunnerFailed                 a consumer cannot go on, or was restarted too often
├── TooManyProducers             a process made more distinct producers than it may
└── MissingLibrary               a client library that was asked for is not installed
"""

from __future__ import annotations


class ClientsError(Exception):
    """The base. `str()` of it is a sentence for the person who reads the log."""


class ProviderClosed(ClientsError):
    """Asked for an instance after close()."""


class NoInstance(ClientsError):
    """No live instance could be had."""


class CreationFailed(NoInstance):
    """The creator raised; its error is the cause."""


class CreationTimedOut(NoInstance, TimeoutError):
    """The creator, or the wait for it, took too long."""


class LeaseMisused(ClientsError):
    """A lease was released twice, or used after its release."""


class ContradictsPath(ClientsError, ValueError):
    """A setting that the path makes dangerous."""


class NotDelivered(ClientsError):
    """A record's delivery report was an error, or did not come in time.

    `retriable`: the same record may be sent again. `unknown`: it may be stored all the same, so that sending it again
    may make a duplicate.
    """

    def __init__(self, message: str, *, retriable: bool = False, unknown: bool = False) -> None:
        super().__init__(message)
        self.retriable = retriable
        self.unknown = unknown


class RunnerFailed(ClientsError):
    """A consumer cannot go on, or was restarted too often."""


class TooManyProducers(ClientsError):
    """A process made more distinct producers than it may."""


class MissingLibrary(ClientsError, ImportError):
    """A client library that was asked for is not installed."""
