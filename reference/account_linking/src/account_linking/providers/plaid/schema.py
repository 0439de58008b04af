"""Plaid's transaction, and its mapping to the generic schema. Plaid's amounts are positive when money leaves."""

from importlib.resources import files

from account_linking.providers.model import Translation

SCHEMA = """
transaction_id string, account_id string, amount string, iso_currency_code string,
unofficial_currency_code string, date string, authorized_date string, datetime string, authorized_datetime string,
name string, merchant_name string, merchant_entity_id string, original_description string, pending boolean,
pending_transaction_id string, payment_channel string, check_number string, transaction_code string,
counterparties array<struct<name: string, entity_id: string, type: string>>,
personal_finance_category struct<primary: string, detailed: string, confidence_level: string, version: string>
"""

COLUMNS = {
    "provider_transaction_id": "t.transaction_id",
    "provider_account_id": "t.account_id",
    "amount": "t.amount",
    "status": "case when t.pending then 'PENDING' when not t.pending then 'POSTED' end",
    "raw_status": "cast(t.pending as string)",
    "currency": "t.iso_currency_code",
    "unofficial_currency": "t.unofficial_currency_code",
    "posted_date": "if(t.pending, null, t.date)",
    "transaction_date": "coalesce(t.authorized_date, t.date)",
    "posted_at": "if(t.pending, null, t.datetime)",
    "authorized_at": "t.authorized_datetime",
    "description_raw": "coalesce(t.original_description, t.name)",
    "description_clean": "coalesce(t.merchant_name, t.name)",
    "counterparty_name": "coalesce(t.merchant_name, get(t.counterparties, 0).name)",
    "counterparty_id": "coalesce(t.merchant_entity_id, get(t.counterparties, 0).entity_id)",
    "counterparty_type": "get(t.counterparties, 0).type",
    "payment_channel": "t.payment_channel",
    "check_number": "t.check_number",
    "pending_of": "t.pending_transaction_id",
    "category_system": "'plaid_pfc'",
    "category_version": "coalesce(t.personal_finance_category.version, 'v1')",
    "category_primary": "t.personal_finance_category.primary",
    "category_detailed": "t.personal_finance_category.detailed",
    "category_confidence": "t.personal_finance_category.confidence_level",
}

ACCOUNT_SCHEMA = "account_id string, type string, subtype string, name string"

ACCOUNT_COLUMNS = {
    "provider_account_id": "t.account_id",
    # depository, credit, loan, investment, other
    "kind": "case when t.type = 'depository' and t.subtype in ('savings', 'money market', 'cd', 'hsa') then 'savings' "
    "when t.type = 'depository' then 'checking' when t.type in ('credit', 'loan', 'investment') then t.type "
    "else 'other' end",
    "raw_kind": "concat_ws('/', t.type, t.subtype)",
    "name": "t.name",
}

TRANSLATION = Translation(
    schema=SCHEMA,
    columns=COLUMNS,
    sign="-1",
    is_absolute=False,
    account_schema=ACCOUNT_SCHEMA,
    account_columns=ACCOUNT_COLUMNS,
    maps=files("account_linking.providers.plaid") / "classes.csv",
)
