"""What a finding is called: by its figures where they are there, by the mode's plain title where they are not."""

from dataclasses import replace

from leadsman.catalogue import every_mode
from leadsman.model import EVERY_SUBJECT, FailureMode, Finding, State, Words
from leadsman.pipeline.verdicts import Observation, judge

CARD = every_mode()[0].card


def test_a_headline_whose_figures_are_there_is_the_title():
    assert _found("Leak: {ids:count} ids", {"ids": 1200.0}).title == "Leak: 1,200 ids"


def test_of_several_headlines_the_first_whose_figures_are_there_is_the_title():
    headline = (("{ids:count} ids, full in {left:duration}", "{ids:count} ids"),)

    assert _found(headline, {"ids": 1200.0}).title == "1,200 ids"


def test_a_headline_whose_figures_are_not_there_leaves_the_plain_title():
    assert _found("Leak: {ids:count} ids", {}).title == CARD.title


def test_a_card_without_a_headline_keeps_its_title():
    assert _found((), {"ids": 1200.0}).title == CARD.title


def _found(headline: Words, figures: dict[str, float]) -> Finding:
    card: FailureMode = replace(CARD, headline=headline, summary="", unsettled="")
    symptom = Observation("worker-1", card.symptom or card.chain[-1].id, State.OBSERVED, None, None)
    return judge("any", card, [symptom, Observation(EVERY_SUBJECT, "figures", None, None, None, figures)], sources=())
