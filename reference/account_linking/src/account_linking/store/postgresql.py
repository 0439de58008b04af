"""The store in PostgreSQL, by pg8000: pure Python, so that it fits into a Lambda package."""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

from account_linking.errors import InvalidSettings
from account_linking.store.sql import SqlStore
from account_linking.store.values import SealedValues

if TYPE_CHECKING:
    from account_linking.store.sealing import Sealer

CONNECT_TIMEOUT_SECONDS = 10
LOOPBACK = ("127.0.0.1", "::1", "localhost")
URL_FORM = "postgresql://USER@HOST:5432/DATABASE"


@dataclass(frozen=True, slots=True)
class Address:
    """How to reach a database. `root_certificate` is a file; empty: the system's certificates."""

    host: str
    port: int
    user: str
    database: str
    password: str = field(repr=False)
    root_certificate: str = ""

    def tls(self) -> ssl.SSLContext | None:
        """Return the TLS context: for any other machine, the certificate and its name are verified."""
        if self.host in LOOPBACK and not self.root_certificate:
            return None
        return ssl.create_default_context(cafile=self.root_certificate or None)


def parse_url(url: str, password: str) -> Address:
    """Parse postgresql://USER@HOST:PORT/DATABASE?sslrootcert=FILE. `password` is used if the URL has none."""
    try:
        parts = urlsplit(url)
        port = parts.port or 5432
    except ValueError:
        parts, port = urlsplit(""), 0
    if not (parts.hostname and parts.username and parts.path.strip("/")):
        raise InvalidSettings(f"The store's URL must have the form {URL_FORM}.")  # not quoted: it may have a password
    return Address(
        host=parts.hostname,
        port=port,
        user=unquote(parts.username),
        database=unquote(parts.path.strip("/")),
        password=unquote(parts.password or "") or password,
        root_certificate=parse_qs(parts.query).get("sslrootcert", [""])[0],
    )


class PostgresStore(SqlStore):
    """The store in one database, shared by any number of machines. The password: in the URL, or PGPASSWORD."""

    placeholder: ClassVar = "%s"
    bytes_type: ClassVar = "bytea"

    def __init__(self, url: str, sealer: Sealer) -> None:
        self.address = parse_url(url, os.environ.get("PGPASSWORD", ""))
        self.values = SealedValues(sealer)

    def _connect(self) -> Any:  # noqa: ANN401 - a connection of any database
        from pg8000 import dbapi  # an extra

        address = self.address
        return dbapi.connect(
            user=address.user,
            password=address.password or None,
            host=address.host,
            port=address.port,
            database=address.database,
            timeout=CONNECT_TIMEOUT_SECONDS,
            ssl_context=address.tls(),
            application_name="account-linking",
        )
