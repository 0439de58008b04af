"""What figures look like in a sentence, and what happens to a sentence whose figure is missing."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadsman.errors import TemplateError
from leadsman.words import duration, fill_template, placeholders, size, span

MORNING = datetime(2020, 12, 20, 8, 14, 3, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        (0, "0 s"),
        (0.0004, "0.4 ms"),
        (0.085, "85 ms"),
        (0.9994, "999 ms"),
        (0.9999, "1 s"),
        (3.2, "3.2 s"),
        (9.97, "10 s"),
        (60, "60 s"),
        (611.4, "611 s"),
        (900, "900 s"),
        (1000, "16 min 40 s"),
        (3600, "1 h"),
        (7500, "2 h 5 min"),
        (7199.9, "2 h"),
        (172_799, "2 d"),
        (277_200, "3 d 5 h"),
        (-3.2, "-3.2 s"),
    ],
)
def test_a_duration_is_as_short_as_stays_exact_enough(seconds, written):
    assert duration(seconds) == written


@given(st.floats(min_value=0, max_value=1e9))
def test_every_duration_carries_a_unit(seconds):
    written = duration(seconds)

    assert written.split()[-1] in {"ms", "s", "min", "h", "d"}


@pytest.mark.parametrize(
    ("template", "sentence"),
    [
        ("{n:count} of {m:count}", "7 of 1,204"),
        ("{m:count record records} and {one:count record records}", "1,204 records and 1 record"),
        ("{m:count quiet gap|quiet gaps}", "1,204 quiet gaps"),
        ("no shorter than {gap:duration}", "no shorter than 611 s"),
        ("at {t:clock}", "at 08:14:03 UTC"),
        ("at {iso:moment}", "at 2020-12-20 08:14:03 UTC"),
        ("{worker} on {n}", "worker-{a} on 7"),
        ("{size:bytes}", "12.4 MB"),
        ("braces {{stay}}", "braces {stay}"),
    ],
)
def test_figures_are_filled_in_by_the_form_that_the_template_names(template, sentence):
    figures: dict[str, float | str] = {
        "n": 7.0,
        "m": 1204,
        "one": 1,
        "gap": 611.2,
        "t": MORNING.timestamp(),
        "iso": "2020-12-20T08:14:03.120Z",
        "worker": "worker-{a}",
        "size": 12_400_000,
    }

    assert fill_template(template, figures) == sentence


def test_a_missing_figure_is_an_error_that_names_template_and_figure():
    with pytest.raises(TemplateError) as raised:
        fill_template("quiet for {gap:duration}", {"errors": 7})

    assert "'gap'" in str(raised.value)
    assert "'quiet for {gap:duration}'" in str(raised.value)
    assert "errors" in str(raised.value)


@pytest.mark.parametrize(
    "template",
    [
        "{n:furlongs}",
        "{word:duration}",
        "{n:count one two three}",
        "{word:clock}",
        "{n.real}",
        "{word[0]}",
        "{}",
        "{n",
    ],
)
def test_a_template_that_cannot_be_filled_is_named_in_the_error(template):
    with pytest.raises(TemplateError, match="template") as raised:
        fill_template(template, {"n": 7, "word": "soon"})

    assert repr(template) in str(raised.value)


def test_the_figures_that_a_template_needs_can_be_listed():
    template = "{errors:count error errors} after {gap:duration}, {{not this}}"

    assert placeholders(template) == {"errors", "gap"}


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1500, "1.5 kB"),
        (999_950, "1.0 MB"),
        (1.6e9, "1.6 GB"),
        (3e12, "3.0 TB"),
    ],
)
def test_bytes_are_written_in_decimal_units(number, written):
    assert size(number) == written


@pytest.mark.parametrize(
    ("until", "written"),
    [
        (datetime(2020, 12, 20, 9, 0, tzinfo=UTC), "2020-12-20 08:14:03 to 09:00:00 UTC"),
        (datetime(2020, 12, 21, 9, 0, tzinfo=UTC), "2020-12-20 08:14:03 to 2020-12-21 09:00:00 UTC"),
        (None, "2020-12-20 08:14:03 UTC"),
        (MORNING + timedelta(milliseconds=120), "2020-12-20 08:14:03 UTC"),
    ],
)
def test_a_span_has_its_date_once_where_it_is_one_day(until, written):
    assert span(MORNING, until) == written
