"""The right to use an instance: while somebody holds one, nobody closes the instance under them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from leadsman.clients.errors import LeaseMisused

if TYPE_CHECKING:
    from types import TracebackType

    from leadsman.clients.lifecycle import Generation

T = TypeVar("T")


class Lender(Protocol[T]):
    """What a lease asks of the provider that gave it."""

    def give_back(self, generation: Generation[T], error: BaseException | None) -> None:
        """Take a lease back."""

    def dropped(self, generation: Generation[T]) -> None:
        """Note a lease that nobody will give back. Called by the garbage collector: must not take a lock."""

    def touch(self, generation: Generation[T]) -> None:
        """Note that the instance proved to be alive."""

    def failed(self, cause: BaseException | str, generation: Generation[T]) -> bool:
        """Stop giving out this generation."""


class Lease(Generic[T]):
    """An instance in use: `with provider.lease() as instance:`, or `lease.value` and, in the end, `lease.release()`."""

    __slots__ = ("_generation", "_held", "_lender")

    def __init__(self, lender: Lender[T], generation: Generation[T]) -> None:
        self._lender = lender
        self._generation = generation
        self._held = True

    @property
    def value(self) -> T:
        """The instance."""
        if not self._held:
            raise LeaseMisused("This lease was released. Ask the provider for a new one.")
        return self._generation.value

    @property
    def generation(self) -> int:
        """Which instance it is: 1 for the provider's first."""
        return self._generation.number

    def touch(self) -> None:
        """Say that the instance proved to be alive: it answered."""
        self._lender.touch(self._generation)

    def fail(self, cause: BaseException | str = "") -> bool:
        """Say that the instance is beyond use: the next lease gets a new one. False: it was replaced already."""
        return self._lender.failed(cause, self._generation)

    def release(self, error: BaseException | None = None) -> None:
        """Give it back; with the error that ended its use, if one did."""
        if not self._held:
            raise LeaseMisused("This lease was released before. Release it once, or use it as a context manager.")
        self._held = False
        self._lender.give_back(self._generation, error)

    def __enter__(self) -> T:
        return self.value

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        self.release(error)

    def __del__(self) -> None:
        if self._held:
            self._lender.dropped(self._generation)
