# ruff: noqa: E501 - patterns are as long as they are
"""Finds passwords among the arguments of commands that name them by a letter or by their place only."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from leadsman.redaction.harmless import is_placeholder
from leadsman.redaction.values import QUOTE, quoted_end

if TYPE_CHECKING:
    from collections.abc import Iterator

Span = tuple[int, int]


class CommandRule(NamedTuple):
    """A text that a line with such a command holds, in lower case, and the pattern up to where the secret begins."""

    hint: str
    before: re.Pattern[str]


def _rule(hint: str, before: str) -> CommandRule:
    return CommandRule(hint, re.compile(before, re.ASCII))


_OPTION = r"(?:(?<=\s)|^)"
RULES = (
    _rule(
        "curl", _OPTION + r"(?:-[a-zA-Z]{0,6}u|--user|--proxy-user|-U)(?:[ \t]*=?[ \t]*)(?=[\"']?[^\s:\"'/]{1,100}:\S)"
    ),
    _rule("mysql", _OPTION + r"-p(?=[^\s-])"),
    _rule("mariadb", _OPTION + r"-p(?=[^\s-])"),
    _rule("sshpass", r"\bsshpass[ \t]+-p[ \t]*"),
    _rule("redis-cli", _OPTION + r"-a[ \t]+(?=[^\s-])"),
    _rule("docker login", _OPTION + r"-p[ \t]+(?=[^\s-])"),
    _rule("podman login", _OPTION + r"-p[ \t]+(?=[^\s-])"),
    _rule("az login", _OPTION + r"-p[ \t]+(?=[^\s-])"),
    _rule("mongo", _OPTION + r"-p[ \t]+(?=[^\s-])"),
    _rule("cqlsh", _OPTION + r"-p[ \t]+(?=[^\s-])"),
    _rule("mosquitto_", _OPTION + r"-P[ \t]+(?=[^\s-])"),
    _rule("ipmitool", _OPTION + r"-P[ \t]*(?=[^\s-])"),
    _rule("snmp", _OPTION + r"-[AXac][ \t]+(?=[^\s-])"),
    _rule("from-literal", r"--from-literal[= \t][\"']?[\w.\-]{1,253}="),
    _rule("kinit", r"\becho[ \t]+(?:-n[ \t]+)?(?=\S{1,200}[ \t]*\|[ \t]*kinit\b)"),
    _rule("pass:", r"-pass(?:in|out)?[ \t]+pass:"),
    _rule("ldap", _OPTION + r"-w[ \t]+(?=[^\s-])"),
    _rule("net use", r"/user:\S{1,100}[ \t]+"),
    _rule("smbclient", _OPTION + r"-U[ \t]*[\"']?[^\s%]{1,100}%"),
    _rule("vault login", r"\bvault login[ \t]+(?=[^\s-])"),
    _rule("htpasswd", r"\bhtpasswd[ \t]+-\w{0,6}b\w{0,6}[ \t]+\S{1,200}[ \t]+\S{1,200}[ \t]+"),
    _rule("auth ", r"^[ \t]*AUTH[ \t]+(?=(?:\S+[ \t]+)?\S{6,}[ \t\r]*$)(?=\S*\d)"),
    _rule("addauth", r"\baddauth[ \t]+digest[ \t]+[^\s:]{1,100}:"),
    _rule("digest:", r"\bdigest:[^\s:]{1,100}:(?=[^\s:,]{6,})"),
    _rule("identified", r"(?i)\bidentified(?:[ \t]+with[ \t]+\S{1,60})?[ \t]+by[ \t]+(?:password[ \t]+)?(?=['\"])"),
    _rule(
        "user_",
        r"(?:(?<=[\s{;,\"'])|^)user_(?!(?:name|id|agent|email|type|role|group|count|data|info|key)\b)\w{1,60}[ \t]*=[ \t]*(?=\\*\"[^\"]*\"[ \t]*(?:;|\\?$|user_|\w+=))",
    ),
)

HINTS = tuple(rule.hint for rule in RULES)
_WORD = {"digest:": re.compile(r"[^\s:,\"']+")}
_ARGUMENT = re.compile(r"[^\s\"']+")
_LOGIN_MODULE = "loginmodule"
_ONLY_USER = re.compile(r"[ \t]*user_\w+[ \t]*=")


def command_spans(text: str, lower: str) -> Iterator[Span]:
    """Yield the place of each secret among the arguments of a command, and of JAAS users."""
    for hint, before in RULES:
        if hint not in lower or (hint == "user_" and not (_LOGIN_MODULE in lower or _ONLY_USER.match(text))):
            continue
        for match in before.finditer(text):
            start, end = _argument(text, match.end(), _WORD.get(hint, _ARGUMENT))
            start += _of_user(text, start, end) if hint == "curl" else 0
            if start < end and not is_placeholder(text[start:end]):
                yield start, end


def _argument(text: str, start: int, word: re.Pattern[str]) -> Span:
    if opening := QUOTE.match(text, start):
        return opening.end(), quoted_end(text, opening)
    found = word.match(text, start)
    return found.span() if found else (start, start)


def _of_user(text: str, start: int, end: int) -> int:
    return text.find(":", start, end) + 1 - start
