"""What a finding tells a reader to do first, whichever of its figures the capture shows."""

import pytest

from leadsman.catalogue import every_mode, modes_named
from leadsman.words import render

COMMAND = "leadsman "


def texts(template):
    """Every sentence of a template."""
    return [template] if isinstance(template, str) else [text for each in template for text in texts(each)]


NEXT_STEPS = [
    pytest.param(text, id=f"{mode.name}-{number}")
    for mode in every_mode()
    for number, text in enumerate(
        [
            *texts(mode.card.next),
            mode.card.no_source_next,
            *(link.collect_command for link in mode.card.chain),
        ]
    )
]


@pytest.mark.parametrize("text", NEXT_STEPS)
def test_a_next_step_names_its_command_once_so_that_it_can_be_split_and_copied(text):
    assert text.count(COMMAND) <= 1


@pytest.mark.parametrize("services", [{}, {"services": "billing"}])
@pytest.mark.parametrize(
    ("figure", "setting"),
    [("dotted_idle_ms", "connections.max.idle.ms"), ("python_idle_ms", "connections_max_idle_ms")],
)
def test_idle_disconnect_names_the_setting_first_also_where_no_service_is_known(figure, setting, services):
    (mode,) = modes_named(["idle_disconnect"])
    card = mode.card

    first = next(filter(None, (render((step,), {figure: "1350", **services}) for step in card.do_now)))

    assert f"{setting}=1350" in first


def test_no_time_until_the_heap_is_full_is_given_where_it_was_full():
    (mode,) = modes_named(["producer_id_leak"])
    card = mode.card
    figures = {"time_to_full_range": "about a minute", "oom_brokers": "broker-1"}

    text = render(card.summary, figures) + render(card.impact, figures)

    assert "is full in" not in text
    assert "broker-1" in text
