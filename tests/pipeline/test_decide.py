"""A finding's title has figures where they are known; otherwise it is the mode's plain title."""

from dataclasses import replace

from leadsman.catalogue import every_mode
from leadsman.model import EVERY_SUBJECT, Alternative, FailureMode, Finding, State, Template, Verdict
from leadsman.pipeline.verdict.decide import Observation, decide

CARD = every_mode()[0].card
DECISIVE = Alternative(
    id="restart",
    cause="A broker restarted",
    observed=("It restarted {times:count} times.",),
    ruled_out="",
    not_visible="",
    decisive=True,
)
SYMPTOM = Observation("worker-1", CARD.symptom or CARD.chain[-1].id, State.OBSERVED, None, None)
CONTRADICTED_CAUSE = Observation("worker-1", CARD.chain[0].id, State.CONTRADICTED, None, None)


def test_a_headline_whose_figures_are_known_is_the_title():
    assert _found("Leak: {ids:count} ids", {"ids": 1200.0}).title == "Leak: 1,200 ids"


def test_of_several_headlines_the_first_whose_figures_are_known_is_the_title():
    headline = (("{ids:count} ids, full in {left:duration}", "{ids:count} ids"),)

    assert _found(headline, {"ids": 1200.0}).title == "1,200 ids"


def test_without_the_headlines_figures_the_title_is_the_plain_one():
    assert _found("Leak: {ids:count} ids", {}).title == CARD.title


def test_a_card_without_a_headline_keeps_its_title():
    assert _found((), {"ids": 1200.0}).title == CARD.title


def test_an_absent_mode_whose_symptom_was_observed_names_the_observed_alternative_first():
    card = replace(CARD, alternatives=(DECISIVE,))
    restart = Observation(EVERY_SUBJECT, "alternative.restart", State.OBSERVED, None, None, {"times": 2.0})

    finding = decide("any", card, [SYMPTOM, restart, CONTRADICTED_CAUSE], sources=())

    assert finding.verdict is Verdict.ABSENT
    assert finding.absent_reasons[0] == "A broker restarted. It restarted 2 times."


def test_an_absent_mode_names_the_link_that_the_telemetry_contradicts():
    card = replace(CARD, chain=(replace(CARD.chain[0], contradicted="No idle gap."), *CARD.chain[1:]))

    finding = decide("any", card, [SYMPTOM, CONTRADICTED_CAUSE], sources=())

    assert finding.absent_reasons == ("No idle gap.",)


def test_a_mode_without_its_symptom_is_absent_without_reasons():
    finding = decide("any", CARD, [CONTRADICTED_CAUSE], sources=())

    assert (finding.verdict, finding.absent_reasons) == (Verdict.ABSENT, ())


def _found(headline: Template, figures: dict[str, float]) -> Finding:
    card: FailureMode = replace(CARD, headline=headline, summary="", unknown="")
    return decide("any", card, [SYMPTOM, Observation(EVERY_SUBJECT, "figures", None, None, None, figures)], sources=())
