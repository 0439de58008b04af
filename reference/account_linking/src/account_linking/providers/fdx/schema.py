"""An FDX-style transaction, and its mapping to the generic schema. A transaction id is unique within its account."""

from importlib.resources import files

from account_linking.providers.model import Translation

SCHEMA = """
transactionId string, accountId string, referenceTransactionId string, amount string, currency string,
debitCreditMemo string, status string, transactionTimestamp string, postedTimestamp string, description string,
payee string, category string, subCategory string, checkNumber string
"""

COLUMNS = {
    "provider_transaction_id": "t.transactionId",
    "provider_account_id": "t.accountId",
    "amount": "t.amount",
    "status": "case when t.status in ('POSTED', 'PENDING') then t.status when t.status in ('AUTHORIZATION', 'MEMO') "
    "then 'PENDING' else 'UNKNOWN' end",
    "raw_status": "t.status",
    "currency": "t.currency",
    "posted_date": "if(t.status = 'POSTED', t.postedTimestamp, null)",
    "transaction_date": "coalesce(t.transactionTimestamp, t.postedTimestamp)",
    "description_raw": "t.description",
    "description_clean": "coalesce(t.payee, t.description)",
    "counterparty_name": "t.payee",
    "mcc": "t.subCategory",
    "check_number": "t.checkNumber",
    "pending_of": "t.referenceTransactionId",
    "category_system": "'fdx'",
    "category_version": "'1'",
    "category_primary": "t.category",
}

SIGN = "case t.debitCreditMemo when 'DEBIT' then -1 when 'CREDIT' then 1 end"
"""A MEMO says nothing of the direction."""

ACCOUNT_SCHEMA = "accountId string, accountType string, nickname string"

ACCOUNT_COLUMNS = {
    "provider_account_id": "t.accountId",
    "kind": "case t.accountType "
    "when 'SAVINGS' then 'savings' when 'CHECKING' then 'checking' when 'CREDITCARD' then 'credit' "
    "when 'LOAN' then 'loan' when 'BROKERAGEPRODUCT' then 'investment' else 'other' end",
    "raw_kind": "t.accountType",
    "name": "t.nickname",
}

TRANSLATION = Translation(
    schema=SCHEMA,
    columns=COLUMNS,
    sign=SIGN,
    is_absolute=True,
    account_schema=ACCOUNT_SCHEMA,
    account_columns=ACCOUNT_COLUMNS,
    maps=files("account_linking.providers.fdx") / "classes.csv",
)
