"""Items, cursors and unfinished fetch results in a database: SQLite, PostgreSQL or DynamoDB, behind one interface.

Access tokens and fetch results are sealed (AES-GCM) before they reach a database; see `sealing`.
"""

from account_linking.store.model import Claim, Store
from account_linking.store.settings import open_store
from account_linking.store.sqlite import SqliteStore

__all__ = ["Claim", "SqliteStore", "Store", "open_store"]
