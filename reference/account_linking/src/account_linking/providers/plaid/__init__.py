"""Plaid: one signed webhook for each item; transactions by cursor; a pending transaction is replaced when it posts."""

from account_linking.providers.model import Provider
from account_linking.providers.plaid.client import fetch
from account_linking.providers.plaid.schema import TRANSLATION
from account_linking.providers.plaid.webhook import fetch_tasks, verifier

PROVIDER = Provider(
    name="plaid",
    url_setting="PLAID_URL",
    verifier=verifier,
    fetch_tasks=fetch_tasks,
    fetch=fetch,
    translation=TRANSLATION,
    calls_per_second=50 / 60 * 20,  # Plaid: 50 calls a minute for each item; a worker meets about 20 items a minute
)
