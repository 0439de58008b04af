"""A bank's own API in the manner of FDX: accounts of a customer, and of each account what changed since a moment."""

from account_linking.providers.fdx.client import fetch
from account_linking.providers.fdx.schema import TRANSLATION
from account_linking.providers.fdx.webhook import elements, verifier
from account_linking.providers.model import Provider

PROVIDER = Provider(
    name="fdx",
    base="FDX_URL",
    verifier=verifier,
    elements=elements,
    fetch=fetch,
    translation=TRANSLATION,
    calls_per_second=20,
)
