"""Renders the templates of a card with the figures of a diagnosis as sentences.

A template is a format string whose placeholders are plain names, each with an optional spec:

    {gap:duration}              611 s, 3.2 s, 85 ms, 2 h 5 min
    {gap:at_least}, {gap:at_most}   the same, rounded down or up: a true bound
    {n:count}                   1,204
    {n:count record records}    1 record, 1,204 records
    {n:count idle gap|idle gaps}   the same where a noun has more than one word
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

    from leadsman.model import Template

Figure = float | str

PLAIN_SECONDS_LIMIT = 900
"""Up to here a duration is shown in seconds: idle limits are known as "611 s", not as "10 min 11 s"."""

MINUTE, HOUR, DAY = 60, 3_600, 86_400
KILOBYTE = 1_000

# Where rounding would show one digit more than the form has room for ("1000 ms", "10.0 s", "1000.0 kB").
FULL_SECOND, TEN_SECONDS, FULL_UNIT = 0.9995, 9.95, 999.95


def fill_template(template: str, figures: Mapping[str, Figure]) -> str:
    """Return the template with its figures. A missing figure or a wrong format raises TemplateError."""
    try:
        return _Filler(template).vformat(template, (), figures)
    except ValueError as error:
        raise TemplateError(
            f"The template {template!r} is not a format string: {error}. Double the braces that are text."
        ) from error


def render(template: Template, figures: Mapping[str, Figure]) -> str:
    """Return a card's sentences: those with all figures, and of a tuple of sentences the first with all figures."""
    if isinstance(template, str):
        return fill_template(template, figures)
    sentences = (_first_with_figures((each,) if isinstance(each, str) else each, figures) for each in template)
    return " ".join(fill_template(sentence, figures) for sentence in sentences if sentence is not None)


def _first_with_figures(sentences: Sequence[str], figures: Mapping[str, Figure]) -> str | None:
    return next((each for each in sentences if placeholders(each) <= figures.keys()), None)


def placeholders(template: str) -> frozenset[str]:
    """Return the names of the figures in a template."""
    return frozenset(name for _, name, _, _ in Formatter().parse(template) if name is not None)


def duration(seconds: float) -> str:
    """Return a duration as short text that is exact enough to compare with a configured limit."""
    if seconds < 0:
        return f"-{duration(-seconds)}"
    if 0 < seconds < FULL_SECOND:
        return f"{seconds * 1000:.3g} ms"
    if seconds < TEN_SECONDS:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    return _long_duration(round(seconds))


def at_least(seconds: float) -> str:
    """Return a duration rounded down: a lower bound."""
    return duration(_rounded(math.floor, seconds))


def at_most(seconds: float) -> str:
    """Return a duration rounded up: an upper bound."""
    return duration(_rounded(math.ceil, seconds))


def _rounded(to: Callable[[float], int], seconds: float) -> float:
    """Return the seconds, rounded to the digits that `duration` shows."""
    steps = 1 if seconds >= TEN_SECONDS else 10 if seconds >= FULL_SECOND else 1000
    return to(round(seconds * steps, 6)) / steps


def _long_duration(seconds: int) -> str:
    if seconds <= PLAIN_SECONDS_LIMIT:
        return f"{seconds} s"
    if seconds < HOUR:
        return _two_units(seconds, (MINUTE, "min"), (1, "s"))
    if round(seconds / MINUTE) * MINUTE < 2 * DAY:
        return _two_units(round(seconds / MINUTE) * MINUTE, (HOUR, "h"), (MINUTE, "min"))
    return _two_units(round(seconds / HOUR) * HOUR, (DAY, "d"), (HOUR, "h"))


def _two_units(seconds: int, large: tuple[int, str], small: tuple[int, str]) -> str:
    quotient, remainder = divmod(seconds, large[0])
    return f"{quotient} {large[1]}" + (f" {remainder // small[0]} {small[1]}" if remainder else "")


def count(number: float, nouns: str = "") -> str:
    """Return a number with thousands separators, and singular or plural of a noun: "record records" or "a b|a bs"."""
    amount = f"{number:,.0f}" if float(number).is_integer() else f"{number:,.1f}"
    if not nouns:
        return amount
    one, many = nouns.split("|" if "|" in nouns else " ")
    return f"{amount} {one if number == 1 else many}"


def size(number: float) -> str:
    """Return a number of bytes in decimal units, as disks and clouds are sold."""
    if number < KILOBYTE:
        return count(number, "byte bytes")
    for unit in ("kB", "MB", "GB"):
        number /= KILOBYTE
        if number < FULL_UNIT:
            return f"{number:.1f} {unit}"
    return f"{number / KILOBYTE:,.1f} TB"


NAMES_IN_SENTENCE = 4
"""Names in one sentence."""


def join_names(names: Iterable[str], at_most: int = NAMES_IN_SENTENCE) -> str:
    """Return names as a list in a sentence; a long list ends with the count of the omitted names."""
    complete = list(names)
    names_shown = (
        complete if len(complete) <= at_most else [*complete[: at_most - 1], f"{len(complete) - at_most + 1} more"]
    )
    return " and ".join(filter(None, (", ".join(names_shown[:-1]), *names_shown[-1:])))


def label_with_cluster(path: str, cluster: str | None) -> str:
    """Return the path of a capture with its cluster, or with "no single cluster"."""
    return f"{path} (cluster {cluster})" if cluster else f"{path} (no single cluster)"


def in_utc(time: datetime) -> datetime:
    """Return a time in UTC. A time without a zone is UTC, never the time zone of this machine."""
    return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)


def clock(time: datetime) -> str:
    """Return the time of day in UTC."""
    return f"{in_utc(time):%H:%M:%S} UTC"


def moment(time: datetime) -> str:
    """Return date and time of day in UTC."""
    return f"{in_utc(time):%Y-%m-%d %H:%M:%S} UTC"


def span(since: datetime | None, until: datetime | None) -> str:
    """Return a time range, with the date once where both ends are on one day. Empty where neither end is known."""
    if since is None or until is None:
        known = since or until
        return moment(known) if known else ""
    if moment(since) == moment(until):
        return moment(since)
    same_day = in_utc(since).date() == in_utc(until).date()
    start = moment(since).removesuffix(" UTC")
    return f"{start} to {clock(until) if same_day else moment(until)}"


def _time(figure: Figure) -> datetime:
    """Return the time of seconds since 1970, or of ISO 8601."""
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
    """A formatter that names its template in errors, and that only looks up plain names."""

    def __init__(self, template: str) -> None:
        self._template = template

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, str]:
        del args
        if field_name not in kwargs:
            available = ", ".join(sorted(kwargs)) or "none"
            raise TemplateError(
                f"No figure {field_name!r} for the template {self._template!r}. Available figures: {available}. "
                "Report that figure from the detector, or take the placeholder out of the card."
            )
        return kwargs[field_name], field_name

    def format_field(self, value: Any, format_spec: str) -> str:  # noqa: ANN401 - the signature is string.Formatter's
        kind, _, nouns = format_spec.partition(" ")
        try:
            return SPECS[kind](value, nouns)
        except (KeyError, ValueError, TypeError, OverflowError, OSError) as error:
            raise TemplateError(
                f"The figure {value!r} cannot be written as {format_spec!r} in the template {self._template!r}. "
                f"Formats: {', '.join(filter(None, SPECS))}; a count takes a singular and a plural."
            ) from error
