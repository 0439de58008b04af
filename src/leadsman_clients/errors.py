"""Every error that leadsman_clients raises on purpose.

ClientsError                     what went wrong, where, and what to do next
├── ProviderClosed               an instance was requested after close()
├── NoInstance                   no live instance is available
│   ├── CreationFailed           create() raised; its error is the cause
│   └── CreationTimedOut         create(), or the wait for it, took too long
├── LeaseMisused                 a lease was released twice, or used after its release
├── InvalidConfiguration         an unknown hop, or a setting that loses records on this network path
├── NotDelivered                 a record's delivery report was an error, or did not come in time
├── RunnerFailed                 a consumer cannot go on, or was restarted too often
├── TooManyProducers             a process made more distinct producers than its limits allow
└── MissingLibrary               the requested client library is not installed
"""

from __future__ import annotations


class ClientsError(Exception):
    """The base. `str()` of it is a sentence for the person who reads the log."""


class ProviderClosed(ClientsError):
    """An instance was requested after close()."""


class NoInstance(ClientsError):
    """No live instance is available."""


class CreationFailed(NoInstance):
    """create() raised; its error is the cause."""


class CreationTimedOut(NoInstance, TimeoutError):
    """create(), or the wait for it, took too long."""


class LeaseMisused(ClientsError):
    """A lease was released twice, or used after its release."""


class InvalidConfiguration(ClientsError, ValueError):
    """An unknown hop, or a setting that loses records on this network path."""


class NotDelivered(ClientsError):
    """A record's delivery report was an error, or did not come in time.

    `retriable`: the same record may be sent again. `possibly_persisted`: the broker may have stored it, so that sending
    it again may store a duplicate.
    """

    def __init__(self, message: str, *, retriable: bool = False, possibly_persisted: bool = False) -> None:
        super().__init__(message)
        self.retriable = retriable
        self.possibly_persisted = possibly_persisted


class RunnerFailed(ClientsError):
    """A consumer cannot go on, or was restarted too often."""


class TooManyProducers(ClientsError):
    """A process made more distinct producers than its limits allow."""


class MissingLibrary(ClientsError, ImportError):
    """The requested client library is not installed."""
