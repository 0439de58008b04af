"""Yodlee: one unsigned webhook names many users and a time window; only posted transactions."""

from account_linking.providers.model import Provider
from account_linking.providers.yodlee.client import fetch, missed_fetch_tasks
from account_linking.providers.yodlee.schema import TRANSLATION
from account_linking.providers.yodlee.webhook import fetch_tasks, verifier

PROVIDER = Provider(
    name="yodlee",
    url_setting="YODLEE_URL",
    verifier=verifier,
    fetch_tasks=fetch_tasks,
    fetch=fetch,
    translation=TRANSLATION,
    calls_per_second=20,
    missed_fetch_tasks=missed_fetch_tasks,
)
