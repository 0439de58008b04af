"""Texts as SQL literals: a statement on a table that a path names takes no parameters, and ids are input."""

from __future__ import annotations


def sql_literal(text: str) -> str:
    """Return an SQL string literal; every character but [A-Za-z0-9] is written as its code point."""
    return "'" + "".join(each if each.isascii() and each.isalnum() else f"\\U{ord(each):08X}" for each in text) + "'"
