"""Amounts as SQL: text under a strict pattern becomes an exact decimal, compared with the currency's minor units.

Nothing is rounded: an amount is exactly what the provider wrote, or its row is quarantined.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from account_linking.currencies import official, unofficial

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

AMOUNT_TYPE: Final = "decimal(33,18)"
"""18 decimal places, as ether has, and 15 digits before the point. Sums are decimal(38,18): 100,000 of the largest."""

INTEGER_DIGITS: Final = 15
DECIMAL_PLACES: Final = 18

PLAIN: Final = rf"\A-?(0|[1-9][0-9]{{0,{INTEGER_DIGITS - 1}}})(\.[0-9]{{1,{DECIMAL_PLACES}}}0{{0,40}})?\z"
"""A JSON number that fits AMOUNT_TYPE as it stands: zeros may follow."""

NUMBER: Final = r"\A-?(0|[1-9][0-9]{0,39})(\.[0-9]{1,60})?([eE][+-]?[0-9]{1,2})?\z"
"""A JSON number in ASCII digits. Exponents have two digits at most: Spark computes all digits of 1e-9999999, which
takes half a minute, and those of 1e-999999999, which ends the driver."""


def quote_numbers(value: str, names: Sequence[str]) -> str:
    """Return SQL of a JSON text in which the numbers of these members are texts.

    Spark reads a number into a string column by way of a double: 0.10000000000000000001 would become 0.1. In valid JSON
    a quotation mark that no backslash precedes begins or ends a string, and a string that a colon follows is a member's
    name, so no other text matches. A name may be written with escapes.
    """
    for name in names:
        value = f"regexp_replace({value}, r'{_member(name)}', '$1\"$2\"')"
    return value


def _member(name: str) -> str:
    """Return a pattern of a member's name, however its letters are written, and its number."""
    letters = "".join(rf"(?:{letter}|\\u00{ord(letter):02x}|\\u00{ord(letter):02X})" for letter in name)
    return rf'("(?<!\\"){letters}"\s*:\s*)(-?[0-9][-+.0-9eE]*)'


def is_number(text: str) -> str:
    """Return SQL that is true where a text is a number of any size."""
    return f"{text} rlike r'{NUMBER}'"


def exact(text: str) -> str:
    """Return SQL of a text as AMOUNT_TYPE; null where it is no number, or where a digit would be lost."""
    decimal = f"try_cast({text} as {AMOUNT_TYPE})"
    zero = f"{is_number(text)} and {_digits(text)} = ''"  # Spark's cast of 0e38 and more is null
    with_exponent = f"{is_number(text)} and {_fits(text)}"
    return (
        f"case when {text} rlike r'{PLAIN}' then {decimal} when {zero} then cast(0 as {AMOUNT_TYPE}) "
        f"when {with_exponent} then {decimal} end"
    )


def _mantissa(text: str) -> str:
    return f"split_part(lower({text}), 'e', 1)"


def _digits(text: str) -> str:
    """Return SQL of a number's digits without the zeros at their beginning: empty for zero."""
    return f"trim(leading '0' from translate({_mantissa(text)}, '-.', ''))"


def _fits(text: str) -> str:
    """Return SQL that is true where a number other than zero keeps all its digits: counted in the text."""
    mantissa, digits = _mantissa(text), _digits(text)
    exponent = f"coalesce(try_cast(split_part(lower({text}), 'e', 2) as int), 0)"
    decimal_places = f"(length(split_part({mantissa}, '.', 2)) - {exponent})"
    zeros = f"(length({digits}) - length(trim(trailing '0' from {digits})))"
    keeps_places, keeps_digits = (
        f"{decimal_places} - {zeros} <= {DECIMAL_PLACES}",
        f"length({digits}) - {decimal_places} <= {INTEGER_DIGITS}",
    )
    return f"({keeps_places} and {keeps_digits})"


def smallest_unit(currency: str, unofficial_currency: str) -> str:
    """Return SQL of the smallest unit of a row's currency, as a decimal; null for an unknown currency."""
    branches = [_units(currency, official()), _units(unofficial_currency, unofficial())]
    return f"case {' '.join(branches)} end"


def is_known(column: str, currencies: Mapping[str, int]) -> str:
    """Return SQL that is true where a column is null or one of these currencies."""
    return f"({column} is null or {column} in ({_codes(currencies)}))"


def _units(column: str, currencies: Mapping[str, int]) -> str:
    by_units: defaultdict[int, list[str]] = defaultdict(list)
    for code, units in currencies.items():
        by_units[units].append(code)
    return " ".join(
        f"when {column} in ({_codes(codes)}) then cast('1e-{units}' as decimal(19,18))"
        for units, codes in by_units.items()
    )


def _codes(codes: Mapping[str, int] | Sequence[str]) -> str:
    return ", ".join(f"'{code}'" for code in codes)
