"""Yodlee: one unsigned webhook names many users and a time window; only posted transactions."""

from account_linking.providers.model import Provider
from account_linking.providers.yodlee.client import fetch, missed_elements
from account_linking.providers.yodlee.schema import TRANSLATION
from account_linking.providers.yodlee.webhook import elements, verifier

PROVIDER = Provider(
    name="yodlee",
    url_setting="YODLEE_URL",
    verifier=verifier,
    elements=elements,
    fetch=fetch,
    translation=TRANSLATION,
    calls_per_second=20,
    missed_elements=missed_elements,
)
