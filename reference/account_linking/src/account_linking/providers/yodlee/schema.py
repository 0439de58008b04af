"""Yodlee's transaction, and its mapping to the generic schema. Amounts are absolute; `baseType` is the direction.

Categories are looked up by type and subtype, because the names of categories differ between customers.
"""

from importlib.resources import files

from account_linking.providers.model import Translation

SCHEMA = """
id bigint, CONTAINER string, accountId bigint, amount struct<amount: string, currency: string>,
baseType string, status string, isDeleted boolean, date string, transactionDate string, postDate string,
description struct<original: string, consumer: string, simple: string>,
merchant struct<id: string, name: string>, category string, categoryType string, subType string,
sourceMerchantCategoryCode string, checkNumber string
"""

CONTAINERS = "('bank', 'creditCard', 'investment', 'insurance', 'loan', 'reward', 'bill', 'realEstate', 'otherAssets', 'otherLiabilities')"
"""Yodlee's containers, by its documentation."""

SIGN = "case t.baseType when 'DEBIT' then -1 when 'CREDIT' then 1 end"

COLUMNS = {
    # A transaction id is unique only within its CONTAINER: with another one the row would be another transaction.
    "provider_transaction_id": f"if(t.CONTAINER in {CONTAINERS}, t.CONTAINER || ':' || cast(t.id as string), null)",
    "provider_account_id": "cast(t.accountId as string)",
    "amount": "t.amount.amount",
    "status": "case when t.status in ('POSTED', 'CLEARED') then 'POSTED' when t.status in ('PENDING', 'SCHEDULED') then t.status "
    "when t.status = 'FAILED' then 'CANCELLED' else 'UNKNOWN' end",
    "raw_status": "t.status",
    "currency": "t.amount.currency",
    "posted_date": "if(t.status in ('POSTED', 'CLEARED'), coalesce(t.postDate, t.date), null)",
    "transaction_date": "coalesce(t.transactionDate, t.date)",
    "description_raw": "t.description.original",
    "description_clean": "coalesce(t.description.simple, t.description.consumer, t.merchant.name, t.description.original)",
    "counterparty_name": "t.merchant.name",
    "counterparty_id": "t.merchant.id",
    "counterparty_type": "if(t.merchant is null, null, 'merchant')",
    "mcc": "t.sourceMerchantCategoryCode",
    "check_number": "t.checkNumber",
    "category_system": "'yodlee'",
    "category_version": "'1'",
    "category_primary": "t.categoryType",
    "category_detailed": "t.subType",
}

ACCOUNT_SCHEMA = "id bigint, CONTAINER string, accountType string, accountName string"

ACCOUNT_COLUMNS = {
    "provider_account_id": "cast(t.id as string)",
    "kind": "case when t.CONTAINER = 'bank' and t.accountType = 'SAVINGS' then 'savings' when t.CONTAINER = 'bank' then 'checking' "
    "when t.CONTAINER = 'creditCard' then 'credit' when t.CONTAINER in ('loan', 'investment') then t.CONTAINER else 'other' end",
    "raw_kind": "concat_ws('/', t.CONTAINER, t.accountType)",
    "name": "t.accountName",
}

TRANSLATION = Translation(
    schema=SCHEMA,
    columns=COLUMNS,
    sign=SIGN,
    is_absolute=True,
    account_schema=ACCOUNT_SCHEMA,
    account_columns=ACCOUNT_COLUMNS,
    maps=files("account_linking.providers.yodlee") / "classes.csv",
)
