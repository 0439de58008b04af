"""Blanks secrets out of text, before it is written or shown.

Only what stands after a key that names a secret is blanked, so that a masked line is otherwise literally the input's.
"""

from __future__ import annotations

import re

MASK = "[hidden]"
"""What Kafka itself prints for a secret setting."""

_KEY = (
    r"(?:[\w.\-]*(?:password|passwd|passphrase|secret|api[._\-]?key|access[._\-]?key(?:[._\-]?id)?|private[._\-]?key"
    r"|credentials?|auth[._\-]?token|access[._\-]?token|refresh[._\-]?token|session[._\-]?token|bearer[._\-]?token"
    r"|basic\.auth\.user\.info|sasl[._]jaas[._]config|keystore\.key|connection[._\-]?string))"
)
"""The whole name of a key, in any of the ways it is written: dots (Java), underscores (Python, environment), dashes."""

_HINTS = re.compile(
    r"pass|secret|key|credential|token|user\.info|jaas|connection|authorization|bearer|eyJ|AKIA|ASIA|://", re.IGNORECASE
)
"""Cheap: most text holds none of these, and is handed back as it is."""

_RULES = (
    # sasl.jaas.config = org...LoginModule required username="u" password="p";   to the end of the line: it has many forms
    (re.compile(r"(?i)(sasl[._]jaas[._]config\"?\s*[=:]\s*)(?!\s*(?:null|\[hidden\]|none)\b)[^\n]*"), rf"\1{MASK}"),
    # -----BEGIN PRIVATE KEY----- ... -----END PRIVATE KEY-----
    (re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL), rf"\1{MASK}\2"),
    # key="value", 'key': 'value', key=\"value\"
    (re.compile(rf"(?i)({_KEY}\\?[\"']?\s*(?:=>|[=:])\s*)(\\?[\"'])(?!\[hidden\])(?:(?!\2)[^\n])+(\2)"), rf"\1\2{MASK}\3"),
    # key = value, key: value. Not the empty value, not Kafka's own masks, not the name of a class or a file's place.
    (
        re.compile(
            rf"(?i)(?<![\w.\-])({_KEY}[\"']?\s*(?:=>|[=:])[ \t]*)"
            r"(?!null\b|none\b|\[hidden\]|\*{3,}|[\"'\\(\[{]|true\b|false\b)[^\s,;&}\])\"']+"
        ),
        rf"\1{MASK}",
    ),
    # Authorization: Bearer ..., Authorization: Basic ...
    (re.compile(r"(?i)\b((?:bearer|basic)\s+)[A-Za-z0-9+/=._~\-]{8,}"), rf"\1{MASK}"),
    # JSON Web Tokens and cloud access keys wherever they stand
    (re.compile(r"\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{4,}(?:\.[A-Za-z0-9_\-]*)?"), MASK),
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"), MASK),
    # scheme://user:password@host
    (re.compile(r"(://[^\s:/@]+:)[^\s/@]+(@)"), rf"\1{MASK}\2"),
)


def mask(text: str) -> str:
    """Return `text` with every secret that can be told by its shape blanked out. Masking twice changes nothing."""
    if not _HINTS.search(text):
        return text
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text
