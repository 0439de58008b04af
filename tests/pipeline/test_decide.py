"""A finding's title has figures where they are known; otherwise it is the mode's plain title."""

from dataclasses import replace

from leadsman.catalogue import every_mode
from leadsman.model import EVERY_SUBJECT, FailureMode, Finding, State, Template
from leadsman.pipeline.verdict.decide import Observation, decide

CARD = every_mode()[0].card


def test_a_headline_whose_figures_are_known_is_the_title():
    assert _found("Leak: {ids:count} ids", {"ids": 1200.0}).title == "Leak: 1,200 ids"


def test_of_several_headlines_the_first_whose_figures_are_known_is_the_title():
    headline = (("{ids:count} ids, full in {left:duration}", "{ids:count} ids"),)

    assert _found(headline, {"ids": 1200.0}).title == "1,200 ids"


def test_without_the_headlines_figures_the_title_is_the_plain_one():
    assert _found("Leak: {ids:count} ids", {}).title == CARD.title


def test_a_card_without_a_headline_keeps_its_title():
    assert _found((), {"ids": 1200.0}).title == CARD.title


def _found(headline: Template, figures: dict[str, float]) -> Finding:
    card: FailureMode = replace(CARD, headline=headline, summary="", unknown="")
    symptom = Observation("worker-1", card.symptom or card.chain[-1].id, State.OBSERVED, None, None)
    return decide("any", card, [symptom, Observation(EVERY_SUBJECT, "figures", None, None, None, figures)], sources=())
