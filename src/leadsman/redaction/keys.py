# ruff: noqa: E501 - patterns are as long as they are
"""Finds secrets by their keys: `password=...`, `"apiKey": "..."`, `--token ...`, `<secret>...`, names beside values."""

from __future__ import annotations

import re
import string
from typing import TYPE_CHECKING

from leadsman.redaction.harmless import MASK, is_harmless, is_prose
from leadsman.redaction.values import QUOTE, Line, quoted_end, unquoted_end

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Span = tuple[int, int]

HINTS = (
    "pass", "pw", "pswd", "senha", "contrase", "kennwort", "masterauth", "ароль", "mot de passe", "wachtwoord", "hasło", "haslo", "senord",
    "密码", "密碼", "パスワード", "secret", "cred", "token", "sig", "hmac",
    "otp", "key", "user.info", "connection", "superdigest", "client_assertion", "verifier", "saml", "sessid", "sessionid",
    "auth=", "auth =", "auth:", "psk", "recovery", "seed", "session_id", "session-id",
    "session.id", "?code", "&code", "device_code", "device-code", "devicecode", "routing_key", "routing-key", "routingkey",
    "routing.key", "community",
)  # fmt: skip
"""Texts of which a line with such a key holds one, in lower case."""

_SUFFIX = r"value|text|plain|old|new|prod|dev|test|staging|base64|base|b64"
BEFORE_WORD = r"(?:^|[^a-z]|\\[a-z]|\\u[0-9a-f]{4}|[0-9;\[]m)"
"""What can stand before a word: also a character as JSON escapes it, such as `\\n`, and a colour's last letter."""

HINT_PATTERNS = {"pw": rf"pwd|{BEFORE_WORD}pw(?:[^a-z]|$|{_SUFFIX})"}
"""Expressions in place of hints that stand in random text: of 50 topic ids one holds the two letters."""

_ANY_VALUE = (
    r"pass(?:words?|wd|phrase|code|wort)|pswd|senha|kennwort|[Пп]ароль|mot de passe|wachtwoord|has[łl]o(?![a-z])|l[öo]senord|密码|密碼|パスワード|contrase.{1,2}a|requirepass|masterauth"
    r"|(?<![A-Za-z])pwd|(?<=[a-z])(?-i:Pwd)|(?<![A-Za-z])pass(?![A-Za-z])|(?<=[a-z])(?-i:Pass)(?![A-Za-z])"
    r"|(?<![A-Za-z])psk(?![A-Za-z])|seed[._\- ]?phrase|recovery[._\- ]?(?:key|phrase|code)s?|snmp[._\- ]?community(?:[._\- ]?string)?"
    r"|(?:db|user|key|store|ssl|ldap|smtp|mail|root|admin|trust|http|ftp|proxy|redis|mysql|pg|my)pass(?![A-Za-z])|(?<![A-Za-z])pw"
)
_NO_COUNTS = (
    r"secrets?|credentials?|creds|tokens?|signature|(?<![A-Za-z])sig(?![A-Za-z])|hmac(?:[._\- ]?key)?|(?<![A-Za-z])otp"
    r"|(?:api|access|secret|private|encryption|signing|master)[._\- ]?key(?:[._\-]?id)?"
    r"|(?:account|shared|keystore|shared[._\-]?access|subscription|functions|ssh|license|session|storage|auth"
    r"|stored|server)[._\-]?key(?:[._\-]?id)?|account\.key\.[\w.\-]{1,100}"
    r"|basic\.auth\.user\.info|connection[._\-]?string|shared[._\-]?access[._\-]?signature|superdigest"
    r"|client_assertion|code_verifier|samlre(?:sponse|quest)|(?:js|phps)ess(?:ion)?id|(?<=[_?&])auth"
    r"|client[._\-]?key[._\-]?data|session[._\-]?id|device[._\-]?code|routing[._\-]?key|(?<=[?&])code"
)
_KEY = re.compile(
    rf"(?:(?P<password>{_ANY_VALUE})|{_NO_COUNTS})"
    r"(?:[_.\-]?(?:\d{1,3}|" + _SUFFIX + r"))?(?![\w\-.](?!>))(?!-\w)",
    re.IGNORECASE | re.ASCII,
)
_URL_KEY = re.compile(r"(?<=[?&])key(?P<password>(?!))?(?==)", re.IGNORECASE)

_CLOSE = r"(?:\\*[\"'`]|&quot;|&\#34;|%22|\\+u0022)?\]?(?:\[\d{0,4}\])?"
_SEPARATOR = re.compile(
    rf"{_CLOSE}[ \t]*+(?:=>|->|:=|={{1,3}}|:(?!:)|%3[AaDd]|\\+u003[AaDd]|%25(?:25)?3[AaDd]|&\#61;)[ \t]*+"
)
_TWO_COLONS = re.compile(r"::(?=[^\s:(]*\d)(?=[^\s:(]*[A-Za-z])(?=[^\s:(]{6})")
_CELL = re.compile(r"\t(?P<value>(?=[^\t]*\d)(?=[^\t]*[A-Za-z])[^\s]{8,})(?=\t)")
"""The value in the next column of a table whose columns tabs separate."""

_NO_VALUE = re.compile(r"(?:![!\w]{1,20}[ \t]+)?(?:[|>][+\-]?\d?[+\-]?|\\|\"{3}|'{3})?[ \t\r]*(?:#[^\n]*)?$")
"""What stands between a key's separator and the end of the line where the value is on the lines below."""

_NEXT_ITEM = re.compile(r"\\*[\"'],[ \t]*(?=\\*[\"'])")
_SPACE = re.compile(r"[ \t]+")
_SPACES = re.compile(r" +")
_CALL = re.compile(r"\((?=\\*[\"'])")
_COLUMN_NAMES = frozenset(
    "created email expired expires host id name plugin role status type user username value".split()
)
_PAGE = re.compile(
    r"(?:next|previous|prev|page|continuation|forward|backward|scroll)[_\-.]?(?:page|sync|continuation)?[_\-.]?token\Z",
    re.IGNORECASE,
)
"""Where a listing goes on: CloudWatch's nextForwardToken."""

_BAR = re.compile(r"\|")
_COLUMN = re.compile(r"[ \t]*\|[ \t]*(?=[^|\s])")
_TAG = re.compile(r"(?:[ \t][^<>]{0,200})?(?:>|&gt;)(?:<!\[CDATA\[)?")
_END_OF_ELEMENT = re.compile(r"<|&lt;|\]\]>")
_QUOTED_NEXT = re.compile(r"[ \t]+(?=')")
_OWN_LINE = re.compile(
    r"[ \t]*(?:- +|> *|export +|set(?:x)? +|ENV +|ARG +|declare +-x +|\$env:|\?? *)?[\\\"']*$", re.IGNORECASE
)
_TWO_WORDS = re.compile(r"[ \t]+(?P<value>[^\s=]+)[ \t\r]*$")
_LOGIN = re.compile(r"\blogin[ \t]+\S{1,100}[ \t]+$")
_LETTER_AND_DIGIT = re.compile(r"(?=\D*\d)(?=[^A-Za-z]*[A-Za-z])")

_NAME_SLOT = re.compile(
    r"(?:\b(?:name|key|id|field|param|parameter|header|property)|\bn)(?:\\*[\"']|&quot;)?[ \t]*[=:>]",
    re.IGNORECASE | re.ASCII,
)
_NAME_SLOT_AT_END = re.compile(rf"{_NAME_SLOT.pattern}[ \t]*(?:\\*[\"']|&quot;)?$", re.IGNORECASE | re.ASCII)
_VALUE_SLOT = re.compile(r"\bvalue(?:\\*[\"']|&quot;)?[ \t]*[=:>][ \t]*", re.IGNORECASE)
_ELEMENT = re.compile(r"[\"'][^<>/]{0,80}>(?=[^<\s])")
SLOT_CHARACTERS = 1000
"""Characters around a name within which its value is looked for."""

_COUNT = re.compile(r"[+\-]?\d{1,5}(?=[\s,;.)]|$)")
_YAML_TAG = re.compile(r"(?:![!\w]{1,20}|&[\w\-]{1,40})[ \t]+")
_WORD = string.ascii_letters + string.digits + "_.-:/$"
MAX_INDENT = 40
"""Characters before the key of an assignment that begins its line."""

MAX_AFTER_KEY = 300
"""Characters from a key that ends its line to the line's end: the rest of the key, a mark, a comment."""

MAX_WORD = 120
"""Characters of a key before the word that names a secret."""


def key_spans(line: Line, lower: str) -> Iterator[Span]:
    """Yield the place of each secret that a key names."""
    if not any(hint in lower for hint in HINTS):
        return
    text, offset = line.text, 0
    while match := _KEY.search(text, offset):
        offset = match.end()
        for start, end in _of_key(line, match):
            yield start, end
            offset = max(offset, end)
    if "key=" in lower:
        for match in _URL_KEY.finditer(text):
            yield from _value(line, match, match.end() + 1, separator="=")


def _of_key(line: Line, match: re.Match[str]) -> Iterator[Span]:
    """Yield the secrets of one key, in whichever syntax it stands."""
    text, end = line.text, match.end()
    word = word_start(text, match.start())
    if _PAGE.search(text, word, end):
        return
    if separator := _SEPARATOR.match(text, end):
        if "://" in text[word:end] and separator[0] == ":":
            return  # the user of a URL
        yield from _value(line, match, separator.end(), separator=separator[0].strip(" \t\"'`\\"))
    elif match["password"] and (colons := _TWO_COLONS.match(text, end)):
        yield from _value(line, match, colons.end(), separator="=")
    elif match["password"] and (cell := _CELL.match(text, end)):
        yield cell.span("value")
    else:
        yield from _without_separator(line, match, word)
    yield from _named_value(line, match)


def _without_separator(line: Line, match: re.Match[str], word: int) -> Iterator[Span]:
    """Yield the value of an option, of an item, an element or a column, of a call or a statement."""
    text, end = line.text, match.end()
    if text[word : word + 1] == "-" and (space := _SPACES.match(text, end) or _NEXT_ITEM.match(text, end)):
        yield from _argument(line, match, space.end())
    elif (item := _NEXT_ITEM.match(text, end)) and _last_before(text, word, "\\\"'".__contains__) == "(":
        yield from _tuple_item(line, match, item.end())
    elif (tag := _TAG.match(text, end)) and _is_tag(text, word):
        yield from _unless_harmless(line, match, tag.end(), line.next(_END_OF_ELEMENT, tag.end()))
    elif text[end : end + 1] in ("(", " ", "\t", "|", "'"):
        yield from _in_words(line, match, word)


def _in_words(line: Line, match: re.Match[str], word: int) -> Iterator[Span]:
    """Yield the value of a column, of a call or a statement, or of a line of two words."""
    text, end = line.text, match.end()
    if (column := _COLUMN.match(text, end)) and _last_before(text, word, str.isspace) == "|":
        stop = line.next(_BAR, column.end())
        if text[column.end() : stop].strip().lower() not in _COLUMN_NAMES:
            yield from _unless_harmless(line, match, column.end(), stop)
    elif (call := _CALL.match(text, end)) and text[word : match.start()].lower().endswith(("set", "with", ".")):
        yield from _value(line, match, call.end(), separator="(")
    elif match["password"] and (quoted := _QUOTED_NEXT.match(text, end)):
        yield from _value(line, match, quoted.end(), separator=" ")
    else:
        yield from _second_word(line, match, word)


def _last_before(text: str, offset: int, is_ignored: Callable[[str], bool]) -> str:
    """Return the last character before a place that is not ignored. To copy the text before it takes as long as it is."""
    while offset and is_ignored(text[offset - 1]):
        offset -= 1
    return text[offset - 1 : offset]


def word_start(text: str, offset: int) -> int:
    """Return where the word begins that goes on at a place."""
    before = text[max(0, offset - MAX_WORD) : offset]
    return offset - len(before) + len(before.rstrip(_WORD))


def _is_tag(text: str, word: int) -> bool:
    return text[word - 1 : word] == "<" or text[max(0, word - 4) : word] == "&lt;"


def _value(line: Line, match: re.Match[str], start: int, *, separator: str) -> Iterator[Span]:
    """Yield the value that begins at `start`, in quotes, in a list or plain."""
    text = line.text
    if tag := _YAML_TAG.match(text, start):
        start = tag.end()
    if opening := QUOTE.match(text, start):
        yield from _unless_harmless(line, match, opening.end(), quoted_end(text, opening))
        return
    if text.startswith("[", start) and (opening := QUOTE.match(text, start + 1)):
        yield from _list(line, match, opening)
        return
    if start >= len(text) or _is_object(text, start):
        return
    if separator.endswith(":") and is_prose(text[start : start + 60], is_password=bool(match["password"])):
        return
    word = word_start(text, match.start())
    owns = word < MAX_INDENT and _OWN_LINE.fullmatch(text[:word]) is not None
    preceding = text[max(0, word - 3) : word].rstrip(" \\\"'`")
    if text.startswith(MASK, start) and _ends(text, start + len(MASK)):
        return
    if not match["password"] and owns and _COUNT.match(text, start):
        return
    end = unquoted_end(line, start, key=word, before=preceding[-1:], whole_line=owns)
    yield from _unless_harmless(line, match, start, end)


def _ends(text: str, offset: int) -> bool:
    return not text[offset : offset + 1].isalnum()


def _is_object(text: str, start: int) -> bool:
    """Whether an object begins: its own keys are looked at."""
    if text[start] not in "{|>":
        return False
    rest = text[start + 1 : start + 60].lstrip()
    if text[start] != "{":
        return not rest.strip("+-0123456789 \r")  # YAML: the value stands on the lines below
    return not rest or rest[0] in "}\\\"'{" or re.match(r"[\w.\-]{1,50}[=:]", rest) is not None


def _list(line: Line, match: re.Match[str], opening: re.Match[str]) -> Iterator[Span]:
    text, current = line.text, opening
    while current:
        end = quoted_end(text, current)
        yield from _unless_harmless(line, match, current.end(), end)
        following = re.compile(r"\\*[\"'`],[ \t]*").match(text, end)
        current = QUOTE.match(text, following.end()) if following else None  # type: ignore[assignment]


def _argument(line: Line, match: re.Match[str], start: int) -> Iterator[Span]:
    """Yield the value of a command's option."""
    text = line.text
    if text.startswith("-", start) or start >= len(text):
        return
    if opening := QUOTE.match(text, start):
        yield from _unless_harmless(line, match, opening.end(), quoted_end(text, opening))
    elif word := re.compile(r"[^\s\"']+").match(text, start):
        yield from _unless_harmless(line, match, start, word.end())


def _tuple_item(line: Line, match: re.Match[str], start: int) -> Iterator[Span]:
    opening = QUOTE.match(line.text, start)
    if opening:
        end = quoted_end(line.text, opening)
        if line.text[end : end + 6].lstrip("\\\"'").startswith(")"):
            is_pair_of_names = (
                _KEY.fullmatch(line.text, opening.end(), end) or line.text[opening.end() : end] == "email"
            )
            if not is_pair_of_names:
                yield from _unless_harmless(line, match, opening.end(), end)


def _second_word(line: Line, match: re.Match[str], word: int) -> Iterator[Span]:
    """Yield the second of two words on a line: `requirepass x`, `fs.s3a.secret.key x`; and a .netrc's password."""
    text = line.text
    if _LOGIN.search(text, max(0, word - 220), word) and (space := _SPACE.match(text, match.end())):
        yield from _argument(line, match, space.end())
        return
    found = _TWO_WORDS.match(text, match.end())
    if not found or word >= MAX_INDENT or not _OWN_LINE.fullmatch(text[:word]):
        return
    name, value = text[word : match.end()], found["value"]
    is_name = "." in name or "_" in name or name.lower() in ("requirepass", "masterauth")
    if is_name or _LETTER_AND_DIGIT.match(value) or "\t" in text[match.end() : found.start("value")]:
        yield from _unless_harmless(line, match, *found.span("value"))


def _named_value(line: Line, match: re.Match[str]) -> Iterator[Span]:
    """Yield the value beside a name: `{"name": "DB_PASSWORD", "value": "..."}`, `<entry key="password">...`."""
    text = line.text
    if not _is_named(text, match.start()):
        return
    close = text.find("}", match.end(), match.end() + SLOT_CHARACTERS)
    stop = close if close >= 0 else match.end() + SLOT_CHARACTERS
    slot = _VALUE_SLOT.search(text, match.end(), stop)
    if slot is None and (element := _ELEMENT.match(text, match.end())):
        yield from _unless_harmless(line, match, element.end(), line.next(_END_OF_ELEMENT, element.end()))
        return
    if slot is None:
        begin = max(0, match.start() - SLOT_CHARACTERS)
        opened = max(text.rfind("{", begin, match.start()), text.rfind("<", begin, match.start()), begin - 1)
        slot = _VALUE_SLOT.search(text, opened + 1, match.start())
    if slot:
        yield from _slot_value(line, match, slot.end())


def _is_named(text: str, offset: int) -> bool:
    """Whether a key stands where a name does: after `name=`, `"key":`, `<name>`."""
    before = text[max(0, offset - MAX_WORD) : offset].rstrip(_WORD.replace(":", ""))
    return (
        before.rstrip("\\\"'; \t")[-1:] in (":", "=", ">", "t") and _NAME_SLOT_AT_END.search(before[-40:]) is not None
    )


def _slot_value(line: Line, match: re.Match[str], start: int) -> Iterator[Span]:
    text = line.text
    if opening := QUOTE.match(text, start):
        yield from _unless_harmless(line, match, opening.end(), quoted_end(text, opening))
    elif word := re.compile(r"[^<]+(?=</?)|[^\s,;\"'<>})\]]+").match(text, start, start + 4 * SLOT_CHARACTERS):
        yield from _unless_harmless(line, match, start, word.end())


def _unless_harmless(line: Line, match: re.Match[str], start: int, end: int) -> Iterator[Span]:
    while end > start and line.text[end - 1] in " \t\r":
        end -= 1
    if end <= start:
        return
    if not is_harmless(match[0].lower(), line.text[start:end], is_password=bool(match["password"])):
        yield start, end


def ends_with_value(text: str) -> bool:
    """Whether the value of a secret's key, which begins the line, goes to the line's end."""
    for match in _KEY.finditer(text):
        word = word_start(text, match.start())
        if _SEPARATOR.match(text, match.end()) and word < MAX_INDENT and _OWN_LINE.fullmatch(text[:word]):
            return not text[:word].strip("\"' ") or '"' not in text
    return False


def assigned_key(text: str) -> re.Match[str] | None:
    """Return the first key of a secret that a value is assigned to."""
    return next((match for match in _KEY.finditer(text) if _SEPARATOR.match(text, match.end())), None)


def key_at_end(text: str) -> re.Match[str] | None:
    """Return the key of a secret that ends a line: its value stands on the lines below."""
    for match in _KEY.finditer(text, max(0, len(text) - MAX_AFTER_KEY)):
        separator = _SEPARATOR.match(text, match.end())
        if separator and _NO_VALUE.match(text, separator.end()):
            return match
        if text.startswith(">", match.end()) and not text[match.end() + 1 :].strip():
            return match
    return None


def name_slot(text: str) -> re.Match[str] | None:
    """Return the key of a secret in a slot for names: its value stands on a line above or below."""
    if len(text) > SLOT_CHARACTERS or _NAME_SLOT.search(text) is None:
        return None
    for match in _KEY.finditer(text):
        if _is_named(text, match.start()):
            return match
    return None


def value_slot_spans(text: str) -> Iterator[Span]:
    """Yield the value of a line `value: ...`, which the name on another line shows to be a secret."""
    slot = _VALUE_SLOT.search(text)
    if slot is None:
        return
    key = re.compile(r"(?P<password>x)|").match("")
    assert key is not None
    line = Line.of(text)
    if slot.end() == len(text) or text[slot.end() :].strip() in ("|", ">", "|-", ">-"):
        return
    if QUOTE.match(text, slot.end()) or "<" in text:
        yield from _slot_value(line, key, slot.end())
    else:
        yield from _unless_harmless(line, key, slot.end(), len(text.rstrip().rstrip(",")))
