"""A bank's own API in the style of FDX: a customer's accounts, and the changes of each account since a time."""

from account_linking.providers.fdx.client import fetch
from account_linking.providers.fdx.schema import TRANSLATION
from account_linking.providers.fdx.webhook import fetch_tasks, verifier
from account_linking.providers.model import Provider

PROVIDER = Provider(
    name="fdx",
    url_setting="FDX_URL",
    verifier=verifier,
    fetch_tasks=fetch_tasks,
    fetch=fetch,
    translation=TRANSLATION,
    calls_per_second=20,
)
