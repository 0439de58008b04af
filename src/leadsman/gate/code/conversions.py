"""Functions of the standard libraries that configurations use: numbers, durations, texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class _Unknown:
    """A value that the program does not say."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __bool__(self) -> bool:
        return False


UNKNOWN: Final = _Unknown()

ENVIRONMENT = frozenset(
    {"os.environ.get", "os.getenv", "environ.get", "getenv", "env.get", "System.getProperty", "config", "env"}
)
"""Functions whose second argument is the value where the environment has none."""

GO_DURATIONS_MS: Mapping[str, int] = {
    "Nanosecond": 0, "Millisecond": 1, "Second": 1000, "Minute": 60_000, "Hour": 3_600_000,
}  # fmt: skip
"""Constants of Go's `time`, in milliseconds, as settings of Kafka are."""

DURATION_FACTORIES_MS: Mapping[str, int] = {
    "ofMillis": 1, "ofSeconds": 1000, "ofMinutes": 60_000, "ofHours": 3_600_000, "ofDays": 86_400_000,
}  # fmt: skip
"""Methods of Java's `Duration`, with what they multiply by."""

TIME_UNITS_MS: Mapping[str, int] = {
    "MILLISECONDS": 1, "SECONDS": 1000, "MINUTES": 60_000, "HOURS": 3_600_000, "DAYS": 86_400_000,
}  # fmt: skip
"""Constants of Java's `TimeUnit`."""

TO_NUMBER = frozenset(
    {"int", "Integer.valueOf", "Integer.parseInt", "Long.valueOf", "Long.parseLong", "Number", "parseInt"}
)
TO_TEXT = frozenset(
    {"str", "String.valueOf", "Integer.toString", "Long.toString", "Boolean.toString", "String", "Boolean.valueOf"}
)
UNCHANGED = frozenset(
    {"toString", "toMillis", "String", "intValue", "longValue", "toInt", "toLong", "trim", "strip", "lower"}
)
"""Methods that return their object as far as a check needs its value."""


def operate(operator: str, left: Any, right: Any) -> Any:  # noqa: ANN401 - any value
    """Return the result of an operator on two known values, else UNKNOWN; the right side for an unknown default."""
    if operator in {"or", "??", "?:"}:
        return right if left is UNKNOWN or left is None else left
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    if operator == "+" and (isinstance(left, str) or isinstance(right, str)):
        return f"{left}{right}" if isinstance(left, str | int) and isinstance(right, str | int) else UNKNOWN
    numbers = isinstance(left, int | float) and isinstance(right, int | float)
    return _calculate(operator, left, right) if numbers else UNKNOWN


def _calculate(operator: str, left: float, right: float) -> Any:  # noqa: ANN401 - any value
    calculations: dict[str, Callable[[float, float], Any]] = {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "/": lambda a, b: a // b if b else UNKNOWN,
        "**": lambda a, b: a**b if abs(b) < 64 and abs(a) < 1_000_000 else UNKNOWN,  # noqa: PLR2004 - no huge numbers
    }
    return calculations[operator](left, right) if operator in calculations else UNKNOWN


def convert(function: str, subject: Any, arguments: list[Any]) -> Any:  # noqa: ANN401 - any value
    """Return the result of a conversion; UNKNOWN for any other function. `subject` is the object of a method."""
    first = arguments[0] if arguments else UNKNOWN
    name = function.rpartition(".")[2]
    if name in DURATION_FACTORIES_MS and isinstance(first, int | float):
        return int(first * DURATION_FACTORIES_MS[name])
    if function in TO_NUMBER:
        return _number(first)
    if function in TO_TEXT:
        return _text(first)
    if name in UNCHANGED and not arguments:
        return subject
    if name == "toMillis" and isinstance(first, int | float):
        unit = function.split(".")[-2] if "." in function else ""
        return int(first * TIME_UNITS_MS[unit]) if unit in TIME_UNITS_MS else UNKNOWN
    return UNKNOWN


def _number(value: Any) -> Any:  # noqa: ANN401 - any value
    try:
        return int(value) if isinstance(value, str | int | float) else UNKNOWN
    except ValueError:
        return UNKNOWN


def _text(value: Any) -> Any:  # noqa: ANN401 - any value
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int | float) else UNKNOWN
