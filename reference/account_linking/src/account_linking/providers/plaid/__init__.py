"""Plaid: one webhook an item, signed; transactions by cursor, with pending ones replaced when they post."""

from account_linking.providers.model import Provider
from account_linking.providers.plaid.client import fetch
from account_linking.providers.plaid.schema import TRANSLATION
from account_linking.providers.plaid.webhook import elements, verifier

PROVIDER = Provider(
    name="plaid",
    base="PLAID_URL",
    verifier=verifier,
    elements=elements,
    fetch=fetch,
    translation=TRANSLATION,
    calls_per_second=50 / 60 * 20,  # 50 a minute and item; a worker meets about twenty items a minute
)
