"""The store in DynamoDB: each call is one conditional write.

An item is one row; a fetch result that does not fit into a row is stored in rows of its own, in the same transaction.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING, Any, Final

from account_linking.errors import TryLater
from account_linking.providers.model import LinkedItem
from account_linking.store.model import Claim
from account_linking.store.values import SealedValues, delivery_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from account_linking.providers.model import FetchResult
    from account_linking.store.sealing import Sealer

LINK = "link"
"""The sort key of an item's own row."""

PART_BYTES = 350_000
"""DynamoDB allows 400 KB a row, with the names of its columns."""

MAX_RESULT_BYTES = 10 * PART_BYTES
"""DynamoDB allows 4 MB a transaction: sealed and compressed, some 50,000 transactions in one fetch."""

EXPIRES_AT: Final = "expires_at"
"""The column of DynamoDB's TTL, in seconds since 1970."""

TABLE: Final = {
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "S"},
    ],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "BillingMode": "PAY_PER_REQUEST",
}

LINK_COLUMNS = "#provider, #item, #user, #token, #cursor, #claim"
MINE = "#claim = :mine"
Row = dict[str, dict[str, Any]]


def dynamodb_client() -> Any:  # noqa: ANN401 - boto3 publishes no types
    """Return a client by the platform's own credentials; it tries again within the time of a short invocation."""
    import boto3  # an extra: workers with another store install none
    from botocore.config import Config

    retries = {"mode": "standard", "max_attempts": 4}
    return boto3.client("dynamodb", config=Config(connect_timeout=2, read_timeout=5, retries=retries))


@dataclass(slots=True)
class DynamoStore:
    """The store in one table: the partition key `pk` is the item, the sort key `sk` says which row of it."""

    client: Any
    table: str
    sealer: Sealer
    values: SealedValues = field(init=False)

    def __post_init__(self) -> None:
        self.values = SealedValues(self.sealer)

    def create(self) -> None:
        """Create the table with its TTL; in production the template does."""
        try:
            self.client.create_table(TableName=self.table, **TABLE)
        except self.client.exceptions.ResourceInUseException:
            return
        self.client.get_waiter("table_exists").wait(TableName=self.table, WaiterConfig={"Delay": 1})
        ttl = {"Enabled": True, "AttributeName": EXPIRES_AT}
        self.client.update_time_to_live(TableName=self.table, TimeToLiveSpecification=ttl)

    def add(self, links: Iterable[LinkedItem]) -> None:
        """Add items, or change their user and token. What a fetch knows of an item stays."""
        for link in links:
            self._update(
                link.provider,
                link.item,
                "set #provider = :provider, #item = :item, #user = :user, #token = :token, #state = :good,"
                " #cursor = if_not_exists(#cursor, :empty), #claim = if_not_exists(#claim, :zero),"
                " #claimed_until = if_not_exists(#claimed_until, :zero), #synced_at = if_not_exists(#synced_at, :zero)",
                values={
                    ":provider": link.provider,
                    ":item": link.item,
                    ":user": link.user,
                    ":token": self.values.token(link),
                    ":good": "good",
                    ":empty": "",
                    ":zero": 0,
                },
            )

    def claim(self, provider: str, item: str, *, now: float, until: float) -> Claim | None:
        """Claim an item until a time; None while another worker's claim is valid. KeyError if the item is unknown."""
        row = self._update(
            provider,
            item,
            "set #claim = #claim + :one, #claimed_until = :until",
            condition="#claimed_until <= :now",
            values={":one": 1, ":until": until, ":now": now},
            returned="ALL_NEW",
        )
        if row is not None:
            return self._claim(row, self._unfinished(provider, item, row))
        if not self.client.get_item(TableName=self.table, Key=_key(provider, item), ConsistentRead=True).get("Item"):
            raise KeyError(item)
        return None

    def save_unfinished(self, claim: Claim, result: FetchResult) -> bool:
        """Save a fetch result before publishing, unless the item was claimed later; return whether it was saved."""
        sealed = self.values.result(claim.link, result)
        provider, item = claim.link.provider, claim.link.item
        if len(sealed) <= PART_BYTES:
            values = {":result": sealed, ":mine": claim.fencing_token}
            saved = self._update(
                provider, item, "set #unfinished = :result remove #parts", condition=MINE, values=values
            )
            return saved is not None
        if len(sealed) > MAX_RESULT_BYTES:
            raise TryLater(
                f"A fetch result of item {item} has {len(sealed)} bytes, sealed and compressed; {MAX_RESULT_BYTES} fit."
            )
        parts = [sealed[at : at + PART_BYTES] for at in range(0, len(sealed), PART_BYTES)]
        return self._save_parts(claim, parts)

    def _save_parts(self, claim: Claim, parts: Sequence[bytes]) -> bool:
        """Write the parts of a fetch result and the item's own row in one transaction."""
        provider, item = claim.link.provider, claim.link.item
        mark = {
            **self._place(provider, item),
            "UpdateExpression": "set #parts = :parts, #parts_of = :mine remove #unfinished",
            "ConditionExpression": MINE,
            "ExpressionAttributeNames": _names("#parts #parts_of #unfinished", MINE),
            "ExpressionAttributeValues": _typed({":parts": len(parts), ":mine": claim.fencing_token}),
        }
        puts = [
            {
                "Put": {
                    "TableName": self.table,
                    "Item": {**_key(provider, item, _part(claim.fencing_token, number)), **_typed({"data": part})},
                }
            }
            for number, part in enumerate(parts)
        ]
        try:
            self.client.transact_write_items(TransactItems=[{"Update": mark}, *puts])
        except self.client.exceptions.TransactionCanceledException as error:
            reasons = {reason.get("Code") for reason in error.response.get("CancellationReasons", ())}
            if "ConditionalCheckFailed" in reasons:
                return False
            raise TryLater(
                f"DynamoDB cancelled saving a result of item {item}: {sorted(map(str, reasons))}."
            ) from error
        return True

    def advance(self, claim: Claim, cursor: str, *, now: float) -> bool:
        """Move the cursor and release the item, unless it was claimed later; return whether the cursor moved."""
        provider, item = claim.link.provider, claim.link.item
        before = self._update(
            provider,
            item,
            "set #cursor = :cursor, #claimed_until = :zero, #synced_at = :now, #state = :good"
            " remove #unfinished, #parts",
            condition=MINE,
            values={":cursor": cursor, ":zero": 0, ":now": now, ":good": "good", ":mine": claim.fencing_token},
            returned="ALL_OLD",
        )
        for name in _parts(before or {}):
            self.client.delete_item(TableName=self.table, Key=_key(provider, item, name))
        return before is not None

    def release(self, claim: Claim, *, state: str = "good") -> None:
        """Release the item without moving its cursor, unless it was claimed later."""
        self._update(
            claim.link.provider,
            claim.link.item,
            "set #claimed_until = :zero, #state = :state",
            condition=MINE,
            values={":zero": 0, ":state": state, ":mine": claim.fencing_token},
        )

    def stale(self, *, before: float) -> list[Claim]:
        """Return the items in good state that were last synced before a time, with their cursors. Claims no item."""
        rows = self._scan("#synced_at < :before and #state = :good", {":before": before, ":good": "good"})
        return [Claim(link=_link(row), cursor=row["cursor"]["S"], fencing_token=int(row["claim"]["N"])) for row in rows]

    def items_of(self, user: str) -> list[LinkedItem]:
        """Return all items of a user, in any state, without their tokens. Reads the whole table."""
        rows = self._scan("#user = :user", {":user": user})
        return sorted((_link(row) for row in rows), key=lambda link: (link.provider, link.item))

    def remove(self, provider: str, item: str) -> bool:
        """Delete an item with all that is stored of it, its own row last; return whether it was there."""
        values = _typed({":pk": _pk(provider, item)})
        pages = self.client.get_paginator("query").paginate(
            TableName=self.table,
            KeyConditionExpression="#pk = :pk",
            ExpressionAttributeNames=_names("#pk #sk"),
            ExpressionAttributeValues=values,
            ProjectionExpression="#sk",
            ConsistentRead=True,
        )
        names = sorted((row["sk"]["S"] for page in pages for row in page["Items"]), key=lambda name: name == LINK)
        for name in names:
            self.client.delete_item(TableName=self.table, Key=_key(provider, item, name))
        return LINK in names

    def reseal(self) -> int:
        """Seal every token again with the current key; return how many. Safe beside running workers."""
        return sum(self._reseal(row) for row in self._scan("#sk = :link", {":link": LINK}))

    def remember_delivery(self, name: str, *, now: float, until: float) -> bool:
        """Remember a webhook's delivery until a time, unless it is remembered already; return whether it was new.

        DynamoDB deletes the row some time after `expires_at`; until then the condition replaces it.
        """
        row = _typed(
            {"pk": f"delivery|{delivery_key(name)}", "sk": "delivery", "until": until, EXPIRES_AT: ceil(until)}
        )
        try:
            self.client.put_item(
                TableName=self.table,
                Item=row,
                ConditionExpression="attribute_not_exists(#pk) or #until <= :now",
                ExpressionAttributeNames=_names("#pk #until"),
                ExpressionAttributeValues=_typed({":now": now}),
            )
        except self.client.exceptions.ConditionalCheckFailedException:
            return False
        return True

    def forget_delivery(self, name: str) -> None:
        """Forget a delivery that was not stored after all."""
        key = _typed({"pk": f"delivery|{delivery_key(name)}", "sk": "delivery"})
        self.client.delete_item(TableName=self.table, Key=key)

    def _reseal(self, row: Row) -> bool:
        provider, item, old = row["provider"]["S"], row["item"]["S"], row["token"]["B"]
        done = self._update(
            provider,
            item,
            "set #token = :new",
            condition="#token = :old",
            values={":new": self.values.resealed(provider, item, old), ":old": old},
        )
        return done is not None

    def _claim(self, row: Row, unfinished: FetchResult | None) -> Claim:
        provider, item = row["provider"]["S"], row["item"]["S"]
        return Claim(
            link=self.values.link(provider, item, user=row["user"]["S"], token=row["token"]["B"]),
            cursor=row["cursor"]["S"],
            fencing_token=int(row["claim"]["N"]),
            unfinished=unfinished,
        )

    def _unfinished(self, provider: str, item: str, row: Row) -> FetchResult | None:
        sealed = row.get("unfinished", {}).get("B", b"")
        for name in _parts(row):
            key = _key(provider, item, name)
            sealed += self.client.get_item(TableName=self.table, Key=key, ConsistentRead=True)["Item"]["data"]["B"]
        return self.values.unfinished(provider, item, sealed)

    def _update(
        self,
        provider: str,
        item: str,
        expression: str,
        *,
        values: Mapping[str, Any],
        condition: str = "",
        returned: str = "NONE",
    ) -> Row | None:
        """Update an item's row; return the requested columns, or None if the condition is false."""
        optional = {"ConditionExpression": condition} if condition else {}
        try:
            response = self.client.update_item(
                **self._place(provider, item),
                UpdateExpression=expression,
                ExpressionAttributeNames=_names(expression, condition),
                ExpressionAttributeValues=_typed(values),
                ReturnValues=returned,
                **optional,
            )
        except self.client.exceptions.ConditionalCheckFailedException:
            return None
        row: Row = response.get("Attributes", {})
        return row

    def _scan(self, condition: str, values: Mapping[str, Any]) -> Iterator[Row]:
        """Yield the rows with a condition. DynamoDB reads the whole table, but sends no fetch results."""
        pages = self.client.get_paginator("scan").paginate(
            TableName=self.table,
            FilterExpression=condition,
            ProjectionExpression=LINK_COLUMNS,
            ExpressionAttributeNames=_names(condition, LINK_COLUMNS),
            ExpressionAttributeValues=_typed(values),
        )
        for page in pages:
            yield from page["Items"]

    def _place(self, provider: str, item: str) -> dict[str, Any]:
        return {"TableName": self.table, "Key": _key(provider, item)}


def _names(*expressions: str) -> dict[str, str]:
    """Return the columns of expressions. All are written as #name: `item`, `user` and more are reserved words."""
    return {f"#{name}": name for expression in expressions for name in re.findall(r"#(\w+)", expression)}


def _link(row: Row) -> LinkedItem:
    return LinkedItem(provider=row["provider"]["S"], item=row["item"]["S"], user=row["user"]["S"], token="")


def _pk(provider: str, item: str) -> str:
    return f"{provider}|{item}"


def _key(provider: str, item: str, row: str = LINK) -> Row:
    return {"pk": {"S": _pk(provider, item)}, "sk": {"S": row}}


def _part(claim: int, number: int) -> str:
    """Return the sort key of a part. It has the claim's number: a worker deletes no parts of a later claim."""
    return f"part-{claim}-{number:03}"


def _parts(row: Row) -> list[str]:
    """Return the sort keys of the parts that an item's row names."""
    count, claim = (int(row.get(name, {}).get("N", 0)) for name in ("parts", "parts_of"))
    return [_part(claim, number) for number in range(count)]


def _typed(values: Mapping[str, Any]) -> Row:
    """Return values with DynamoDB's types."""
    return {name: _typed_value(value) for name, value in values.items()}


def _typed_value(value: Any) -> dict[str, Any]:  # noqa: ANN401 - text, bytes or a number
    if isinstance(value, bytes):
        return {"B": value}
    return {"S": value} if isinstance(value, str) else {"N": repr(value)}
