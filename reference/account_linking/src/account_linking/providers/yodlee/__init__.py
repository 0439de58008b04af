"""Yodlee: one webhook names many users and a window of time; unsigned; only posted transactions."""

from account_linking.providers.model import Provider
from account_linking.providers.yodlee.client import fetch, missed
from account_linking.providers.yodlee.schema import TRANSLATION
from account_linking.providers.yodlee.webhook import elements, verifier

PROVIDER = Provider(
    name="yodlee",
    base="YODLEE_URL",
    verifier=verifier,
    elements=elements,
    fetch=fetch,
    translation=TRANSLATION,
    calls_per_second=20,
    missed=missed,
)
