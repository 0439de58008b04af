"""Turns the templates of a card and the figures of a diagnosis into sentences.

A template is a format string whose placeholders are plain names, each with an optional spec:

    {gap:duration}              611 s, 3.2 s, 85 ms, 2 h 5 min
    {gap:at_least}, {gap:at_most}   the same, rounded down or up: a bound that holds
    {n:count}                   1,204
    {n:count record records}    1 record, 1,204 records
    {n:count quiet gap|quiet gaps}   the same where a noun has more than one word
    {t:clock}                   08:14:03 UTC
    {t:moment}                  2020-12-20 08:14:03 UTC
    {size:bytes}                12.4 MB
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from string import Formatter
from typing import TYPE_CHECKING, Any

from leadsman.errors import TemplateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from leadsman.model import Words

Figure = float | str

SECONDS_UNTIL = 900
"""Up to here a duration stays in plain seconds: people who chase an idle limit say "611 s", not "10 min 11 s"."""

MINUTE, HOUR, DAY = 60, 3_600, 86_400
KILOBYTE = 1_000

# Where rounding would show one digit more than the form has room for ("1000 ms", "10.0 s", "1000.0 kB").
FULL_SECOND, TEN_SECONDS, FULL_UNIT = 0.9995, 9.95, 999.95


def fill(template: str, figures: Mapping[str, Figure]) -> str:
    """Put the figures in place. A missing figure or a wrong spec raises TemplateError."""
    try:
        return _Filler(template).vformat(template, (), figures)
    except ValueError as error:
        raise TemplateError(
            f"The template {template!r} is not a format string: {error}. Double the braces that are text."
        ) from error


def say(words: Words, figures: Mapping[str, Figure]) -> str:
    """Put a card's sentences together: those whose figures are all there, and of alternatives the first that fits."""
    if isinstance(words, str):
        return fill(words, figures)
    chosen = (_fitting((each,) if isinstance(each, str) else each, figures) for each in words)
    return " ".join(fill(template, figures) for template in chosen if template is not None)


def _fitting(alternatives: Sequence[str], figures: Mapping[str, Figure]) -> str | None:
    return next((each for each in alternatives if placeholders(each) <= figures.keys()), None)


def placeholders(template: str) -> frozenset[str]:
    """Name the figures that a template asks for."""
    return frozenset(name for _, name, _, _ in Formatter().parse(template) if name is not None)


def duration(seconds: float) -> str:
    """Write it as short as stays exact enough to compare with a configured limit."""
    if seconds < 0:
        return f"-{duration(-seconds)}"
    if 0 < seconds < FULL_SECOND:
        return f"{seconds * 1000:.3g} ms"
    if seconds < TEN_SECONDS:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    return _long_duration(round(seconds))


def at_least(seconds: float) -> str:
    """Write a duration that none of what is told of is shorter than: rounded down."""
    return duration(_rounded(math.floor, seconds))


def at_most(seconds: float) -> str:
    """Write a duration that none of what is told of is longer than: rounded up."""
    return duration(_rounded(math.ceil, seconds))


def _rounded(to: Callable[[float], int], seconds: float) -> float:
    """Return the seconds rounded to what `duration` shows of them."""
    steps = 1 if seconds >= TEN_SECONDS else 10 if seconds >= FULL_SECOND else 1000
    return to(round(seconds * steps, 6)) / steps


def _long_duration(seconds: int) -> str:
    if seconds <= SECONDS_UNTIL:
        return f"{seconds} s"
    if seconds < HOUR:
        return _two_units(seconds, (MINUTE, "min"), (1, "s"))
    if round(seconds / MINUTE) * MINUTE < 2 * DAY:
        return _two_units(round(seconds / MINUTE) * MINUTE, (HOUR, "h"), (MINUTE, "min"))
    return _two_units(round(seconds / HOUR) * HOUR, (DAY, "d"), (HOUR, "h"))


def _two_units(seconds: int, large: tuple[int, str], small: tuple[int, str]) -> str:
    whole, rest = divmod(seconds, large[0])
    return f"{whole} {large[1]}" + (f" {rest // small[0]} {small[1]}" if rest else "")


def count(number: float, nouns: str = "") -> str:
    """Separate thousands, and add the right one of two nouns: "record records" or "a b|a bs"."""
    amount = f"{number:,.0f}" if float(number).is_integer() else f"{number:,.1f}"
    if not nouns:
        return amount
    one, many = nouns.split("|" if "|" in nouns else " ")
    return f"{amount} {one if number == 1 else many}"


def size(number: float) -> str:
    """Write bytes in the decimal units that disks and clouds are sold in."""
    if number < KILOBYTE:
        return count(number, "byte bytes")
    for unit in ("kB", "MB", "GB"):
        number /= KILOBYTE
        if number < FULL_UNIT:
            return f"{number:.1f} {unit}"
    return f"{number / KILOBYTE:,.1f} TB"


NAMES_LISTED = 4
"""Names in one sentence."""


def listed(names: Iterable[str], at_most: int = NAMES_LISTED) -> str:
    """Write names as one reads them out; many end in a count of what was left out."""
    every = list(names)
    shown = every if len(every) <= at_most else [*every[: at_most - 1], f"{len(every) - at_most + 1} more"]
    return " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))


def in_cluster(path: str, cluster: str | None) -> str:
    """Name what of a capture is of one cluster, or of no single one."""
    return f"{path} (cluster {cluster})" if cluster else f"{path} (no single cluster)"


def in_utc(time: datetime) -> datetime:
    """Move a time to UTC. One without a zone is taken for UTC, never for the zone of the machine that reads it."""
    return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)


def clock(time: datetime) -> str:
    """Write the time of day in UTC."""
    return f"{in_utc(time):%H:%M:%S} UTC"


def moment(time: datetime) -> str:
    """Write date and time of day in UTC."""
    return f"{in_utc(time):%Y-%m-%d %H:%M:%S} UTC"


def span(since: datetime | None, until: datetime | None) -> str:
    """Write a stretch of time, the date said once where it is one day. Empty where neither end is known."""
    if since is None or until is None:
        known = since or until
        return moment(known) if known else ""
    if moment(since) == moment(until):
        return moment(since)
    same_day = in_utc(since).date() == in_utc(until).date()
    start = moment(since).removesuffix(" UTC")
    return f"{start} to {clock(until) if same_day else moment(until)}"


def _time(figure: Figure) -> datetime:
    """Read seconds since 1970, or ISO 8601."""
    if isinstance(figure, str):
        return in_utc(datetime.fromisoformat(figure))
    return datetime.fromtimestamp(figure, UTC)


def _plain(figure: Figure) -> str:
    if isinstance(figure, str):
        return figure
    return f"{figure:.0f}" if float(figure).is_integer() else f"{figure:g}"


SPECS: Mapping[str, Callable[[Figure, str], str]] = {
    "": lambda figure, _: _plain(figure),
    "duration": lambda figure, _: duration(float(figure)),
    "at_least": lambda figure, _: at_least(float(figure)),
    "at_most": lambda figure, _: at_most(float(figure)),
    "count": lambda figure, nouns: count(float(figure), nouns),
    "clock": lambda figure, _: clock(_time(figure)),
    "moment": lambda figure, _: moment(_time(figure)),
    "bytes": lambda figure, _: size(float(figure)),
}


class _Filler(Formatter):
    """A formatter that knows its template, so that an error can name it, and that only looks up plain names."""

    def __init__(self, template: str) -> None:
        self._template = template

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, str]:
        del args
        if field_name not in kwargs:
            there = ", ".join(sorted(kwargs)) or "none"
            raise TemplateError(
                f"No figure {field_name!r} for the template {self._template!r}. Figures that are there: {there}. "
                "Report that figure from the detector, or take the placeholder out of the card."
            )
        return kwargs[field_name], field_name

    def format_field(self, value: Any, format_spec: str) -> str:  # noqa: ANN401 - the signature is string.Formatter's
        kind, _, rest = format_spec.partition(" ")
        try:
            return SPECS[kind](value, rest)
        except (KeyError, ValueError, TypeError, OverflowError, OSError) as error:
            raise TemplateError(
                f"The figure {value!r} cannot be written as {format_spec!r} in the template {self._template!r}. "
                f"Forms: {', '.join(filter(None, SPECS))}; a count takes one noun for one and one for many."
            ) from error
