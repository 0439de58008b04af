"""python -m account_linking.store create|add|reseal|forget|new-key. The settings name the store and its key."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING, TextIO

from account_linking.command_line import run
from account_linking.errors import InvalidSettings
from account_linking.providers.model import LinkedItem
from account_linking.store.sealing import add_key
from account_linking.store.settings import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from account_linking.providers.model import Settings
    from account_linking.store.model import Store

FIELDS = ("provider", "item", "user", "token")
FORM = '{"provider": "plaid", "item": "ID", "user": "ID", "token": "ACCESS TOKEN"}'


def main(arguments: Sequence[str], settings: Settings, lines: TextIO) -> int:
    """Run one command; `add` reads items from `lines`, so that no token is in a list of processes."""
    options = _arguments(arguments)
    if options.command == "new-key":
        add_key(options.file)
        sys.stdout.write(f"{options.file} has a new first key. Run `reseal` next, if it had an older one.\n")
        return 0
    store = open_store(settings)
    match options.command:
        case "create":
            store.create()
            sys.stdout.write("The store has its tables.\n")
        case "forget":
            _forget(store, options.user)
        case "add":
            links = list(_links(lines))
            store.add(links)
            sys.stdout.write(f"Items added or changed: {len(links)}.\n")
        case _:
            sys.stdout.write(f"Tokens sealed with the current key: {store.reseal()}.\n")
    return 0


def _forget(store: Store, user: str) -> None:
    """Delete a user's items. A second run deletes items that were added meanwhile."""
    items = store.items_of(user)
    for link in items:
        store.remove(link.provider, link.item)
        sys.stdout.write(f"deleted {link.provider}|{link.item}\n")
    sys.stdout.write(f"Items deleted: {len(items)}. Next: python -m account_linking.tables forget\n")


def _links(lines: TextIO) -> Iterator[LinkedItem]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _link(line, number)


def _link(line: str, number: int) -> LinkedItem:
    """Parse one item. A line that is none is not quoted: it may contain a token."""
    try:
        document = json.loads(line)
        fields = {name: document[name] for name in FIELDS}
    except (ValueError, KeyError, TypeError):
        raise InvalidSettings(f"Line {number} is no item. Nothing was added. An item is one line: {FORM}") from None
    if not all(isinstance(value, str) and value for value in fields.values()):
        raise InvalidSettings(f"Line {number}: every field of an item is a text and not empty. Nothing was added.")
    return LinkedItem(**fields)


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m account_linking.store", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("create", help="create the tables that do not exist yet")
    commands.add_parser("add", help=f"add items, or change their user and token; one a line of the input: {FORM}")
    commands.add_parser("reseal", help="seal every access token again with the current key")
    commands.add_parser("forget", help="delete a user's items with their tokens").add_argument("--user", required=True)
    commands.add_parser("new-key", help="put a new key first in a key file").add_argument("file")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    raise SystemExit(run(lambda: main(sys.argv[1:], os.environ, sys.stdin)))
