"""The action for each error of a consumer, the offsets that it may commit, and its restarts."""

from __future__ import annotations

from collections import deque
from datetime import timedelta
from functools import partial

import pytest
from confluent_kafka import KafkaError
from hypothesis import given
from hypothesis import strategies as st

from leadsman_clients import ClientsError, ConsumerPolicy, ConsumerRunner
from leadsman_clients.backoff import Backoff
from leadsman_clients.consumer._offsets import OffsetTracker
from leadsman_clients.consumer.error_actions import ERROR_ACTIONS, Action, error_action
from leadsman_clients.consumer.policy import RestartBudget

ORDERS = ("orders", 0)


@pytest.mark.parametrize("name", ERROR_ACTIONS)
def test_every_error_of_the_table_exists_in_the_client(name: str) -> None:
    code = getattr(KafkaError, name)

    assert KafkaError(code).name() == name
    assert ERROR_ACTIONS[name].reason.endswith(".")


@pytest.mark.parametrize(
    ("error", "action"),
    [
        (KafkaError(KafkaError._ALL_BROKERS_DOWN), Action.RETRY),
        (KafkaError(KafkaError.LEADER_NOT_AVAILABLE), Action.RETRY),
        (KafkaError(KafkaError._MAX_POLL_EXCEEDED), Action.REJOIN),
        (KafkaError(KafkaError._AUTHENTICATION), Action.RESTART),
        (KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), Action.STOP),
        (KafkaError(KafkaError._PARTITION_EOF), Action.IGNORE),
        (KafkaError(KafkaError.THROTTLING_QUOTA_EXCEEDED, "unlisted", False, True), Action.RETRY),
        (KafkaError(KafkaError.THROTTLING_QUOTA_EXCEEDED, "unlisted", True), Action.RESTART),
        (KafkaError(KafkaError.THROTTLING_QUOTA_EXCEEDED, "unlisted"), Action.RESTART),
    ],
)
def test_an_error_that_is_not_in_the_table_is_decided_by_what_the_client_reports(
    error: KafkaError, action: Action
) -> None:
    assert error_action(error).action is action


@given(order=st.permutations(range(12)), finished=st.integers(0, 12))
def test_no_commit_skips_a_record_that_is_not_processed(order: list[int], finished: int) -> None:
    offsets = OffsetTracker()
    processed = set(order[:finished])
    deque(map(partial(offsets.mark_received, ORDERS), range(12)))

    deque(map(partial(offsets.mark_processed, ORDERS), processed))

    first_unprocessed = min(set(range(12)) - processed, default=12)
    assert offsets.uncommitted().get(ORDERS, 0) == first_unprocessed
    assert offsets.in_flight == 12 - finished


def test_a_record_of_a_revoked_partition_does_not_count() -> None:
    offsets = OffsetTracker()
    offsets.mark_received(ORDERS, 7)
    offsets.remove([ORDERS])

    counted = offsets.mark_processed(ORDERS, 7)

    assert counted is False
    assert offsets.uncommitted() == {}


def test_restarts_have_longer_pauses_and_are_allowed_again_after_the_window() -> None:
    budget = RestartBudget(2, timedelta(minutes=1), Backoff(initial=timedelta(seconds=1), uniform=lambda _, high: high))

    pauses = [budget.spend(now) for now in (0.0, 1.0, 2.0, 60.5)]

    assert pauses == [1.0, 2.0, None, 2.0]


def test_dead_letters_need_a_topic_and_producers() -> None:
    with pytest.raises(ClientsError, match="both a topic"):
        ConsumerRunner({}, ["orders"], lambda _: None, dead_letters="orders.dead")


def test_topics_are_a_list() -> None:
    with pytest.raises(ClientsError, match=r"must be a list: \['orders'\]"):
        ConsumerRunner({}, "orders", lambda _: None)


def test_a_configuration_that_can_never_work_fails_at_once() -> None:
    runner = ConsumerRunner({"bootstrap.servers": "localhost:1"}, ["orders"], lambda _: None)

    with pytest.raises(Exception, match=r"group\.id"):
        runner.run()

    assert runner.health.alive is False


@pytest.mark.parametrize("invalid", [{"max_attempts": 0}, {"max_in_flight": 0}])
def test_an_invalid_policy_is_refused(invalid: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(invalid))):
        ConsumerPolicy(**invalid)  # type: ignore[arg-type]  # numbers for numbers
