"""A lease: the right to use an instance. While a lease is out, the provider does not close its instance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from leadsman_clients.errors import LeaseMisused

if TYPE_CHECKING:
    from types import TracebackType

    from leadsman_clients.instance._lifecycle import ManagedInstance

T = TypeVar("T")


class LeaseOwner(Protocol[T]):
    """The methods of a provider that its leases call."""

    def release(self, managed: ManagedInstance[T], error: BaseException | None) -> None:
        """Take a lease back."""

    def note_leaked(self, managed: ManagedInstance[T]) -> None:
        """Note a lease that nobody will release. Called by the garbage collector: must not take a lock."""

    def touch(self, managed: ManagedInstance[T]) -> None:
        """Note that the instance proved to be alive."""

    def invalidate(self, cause: BaseException | str, managed: ManagedInstance[T]) -> bool:
        """Stop giving out this instance."""


class Lease(Generic[T]):
    """An instance in use: `with provider.lease() as instance:`, or `lease.value` and finally `lease.release()`."""

    __slots__ = ("_is_released", "_managed", "_owner")

    def __init__(self, owner: LeaseOwner[T], managed: ManagedInstance[T]) -> None:
        self._owner = owner
        self._managed = managed
        self._is_released = False

    @property
    def value(self) -> T:
        """The instance."""
        if self._is_released:
            raise LeaseMisused("This lease was released. Take a new one from the provider.")
        return self._managed.value

    @property
    def generation(self) -> int:
        """The number of the instance: 1 for the provider's first."""
        return self._managed.generation

    def touch(self) -> None:
        """Report that the instance proved to be alive: the server answered."""
        self._owner.touch(self._managed)

    def invalidate(self, cause: BaseException | str = "") -> bool:
        """Report that the instance is unusable: the next lease gets a new one. False: it was replaced already."""
        return self._owner.invalidate(cause, self._managed)

    def release(self, error: BaseException | None = None) -> None:
        """Give the instance back; with the error that ended its use, if one did."""
        if self._is_released:
            raise LeaseMisused("This lease was released before. Release it once, or use it as a context manager.")
        self._is_released = True
        self._owner.release(self._managed, error)

    def __enter__(self) -> T:
        return self.value

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        self.release(error)

    def __del__(self) -> None:
        if not self._is_released:
            self._owner.note_leaked(self._managed)
