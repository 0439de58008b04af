# ruff: noqa: E501 - patterns are as long as they are
"""What stands after a key of a secret and is none: words for no value, counts, paths, classes, Kafka's own words."""

from __future__ import annotations

import re

MASK = "[hidden]"
"""What Kafka itself prints for a secret setting."""

_PLACEHOLDER = re.compile(
    r"(?:null|none|nil|undefined|empty|n/a|unset|true|false|yes|no|on|off|\(null\)|\[hidden\]|\[?redacted\]?|\[masked\]"
    r"|<[\w .\-]{0,40}>|\*{3,}|x{4,}|\.{3}|\[\]|\{\}|\$\{[^{}]{1,200}\}|\$\(\w{1,80}\)|\{\{[^{}]{1,200}\}\}|%\(\w{1,80}\)s)",
    re.IGNORECASE | re.ASCII,
)
"""What programs print where there is no secret, where they have masked it, or where another place holds it."""

_COUNT = re.compile(r"[+\-]?\d{1,5}(?:\.\d{1,3})?")
"""A number that is no secret after `token=`: task tokens of Spark, versions, counts."""

_COUNTS = re.compile(r"[\d.,]+")
_CLASS = re.compile(r"(?:class )?(?:[a-z]\w{0,60}\.){1,12}[A-Z]\w{0,100}(?:\$\w{1,100})*(?:@[0-9a-f]{1,16})?[:)]?")
_PATH = re.compile(
    r"/(?:etc|var|run|opt|home|tmp|usr|srv|mnt|data|root|app|secrets|kafka|Users)(?:/[\w.\-@]{1,100}){1,20}/?"
)
_FOLDER = re.compile(r"(?:[A-Za-z]:[\\/]|[/~.])[\w/\\.\-@+: ]*")
_SIGNATURE = re.compile(r"(?=[^\s]*\d)[^\s]{12,}|[^\s]{24,}")
_OPAQUE = re.compile(
    r"(?=\S*\d)(?=\S*[A-Z])(?=\S*[a-z])[\w.~+/%\-]{16,}=*|[0-9a-fA-F]{40,}|(?=\w*\d)(?=\w*[A-Za-z])[0-9A-Za-z]{32}",
    re.ASCII,
)
"""A random text that no count, name, class or id of Kafka looks like."""

_BY_FORM = re.compile(r"session[._\-]?id|device[._\-]?code|routing[._\-]?key|code")
"""Keys of which some are secrets and others are not: sessions of web servers and of ZooKeeper, routing keys of PagerDuty
and of RabbitMQ, codes of logins and of errors."""

_STATUS = frozenset(
    "a an and are authentication authorization bad be been between by can cannot changed check could did does doesn "
    "done error expected expired expires failed failure for from has have in incorrect invalid is length lengths may "
    "mismatch missing must needs not of ok only or policy provided refresh rejected renewed required reset revoked "
    "rotated rules should specified the this to too unauthorized unavailable unknown unsupported valid value was were "
    "will wrong".split()
)
"""Words with which a sentence about a secret goes on after a colon: `Invalid password: must be longer`."""

_PROSE = re.compile(r"[A-Za-z][a-z]{0,20}(?:['\u2019][a-z])?[,.:;]? +[a-z(]{1,20}\b")
_FIRST_WORD = re.compile(r"[A-Za-z]+")

KAFKA_REQUESTS = frozenset(
    "produce fetch listoffsets offsets metadata leaderandisr stopreplica updatemetadata controlledshutdown "
    "offsetcommit offsetfetch findcoordinator groupcoordinator joingroup heartbeat leavegroup syncgroup describegroups "
    "listgroups saslhandshake apiversions createtopics deletetopics deleterecords initproducerid offsetforleaderepoch "
    "addpartitionstotxn addoffsetstotxn endtxn writetxnmarkers txnoffsetcommit describeacls createacls deleteacls "
    "describeconfigs alterconfigs alterreplicalogdirs describelogdirs saslauthenticate createpartitions "
    "createdelegationtoken renewdelegationtoken expiredelegationtoken describedelegationtoken deletegroups "
    "electleaders electpreferredleaders incrementalalterconfigs alterpartitionreassignments "
    "listpartitionreassignments offsetdelete describeclientquotas alterclientquotas describeuserscramcredentials "
    "alteruserscramcredentials vote beginquorumepoch endquorumepoch describequorum alterisr alterpartition "
    "updatefeatures envelope fetchsnapshot describecluster describeproducers brokerregistration brokerheartbeat "
    "unregisterbroker describetransactions listtransactions allocateproducerids consumergroupheartbeat "
    "consumergroupdescribe controllerregistration gettelemetrysubscriptions pushtelemetry assignreplicastodirs "
    "listclientmetricsresources listconfigresources describetopicpartitions sharegroupheartbeat sharegroupdescribe "
    "sharefetch shareacknowledge addraftvoter removeraftvoter updateraftvoter initializesharegroupstate "
    "readsharegroupstate writesharegroupstate deletesharegroupstate readsharegroupstatesummary "
    "streamsgroupheartbeat streamsgroupdescribe describesharegroupoffsets altersharegroupoffsets "
    "deletesharegroupoffsets unknown".split()
)
"""Names of Kafka's ApiKeys, without underscores: `apiKey=METADATA` names a request."""


def is_placeholder(value: str) -> bool:
    """Whether a value stands for no secret, whatever its key."""
    return not any(map(str.isalnum, value[:1000])) or _PLACEHOLDER.fullmatch(value[:250]) is not None


def is_harmless(key: str, value: str, *, is_password: bool) -> bool:
    """Whether the value of a key that names a secret is none. `key` is in lower case; a password can be any value."""
    if is_placeholder(value) or _CLASS.fullmatch(value[:400]):
        return True
    if key.endswith("pwd") and _FOLDER.fullmatch(value[:400]):
        return True
    if is_password and not key.endswith(("pass", "pw")):
        return False
    if _COUNT.fullmatch(value[:20]):
        return True
    if is_password:
        return value.lower() in _STATUS
    return _is_of_kafka(key, value.rstrip(".,;:)]}'\"")) or _PATH.fullmatch(value[:400]) is not None


def _is_of_kafka(key: str, value: str) -> bool:
    if _BY_FORM.fullmatch(key):
        return not _OPAQUE.fullmatch(value[:1000].split(maxsplit=1)[0])
    if key.endswith(("sig", "signature")):
        return not _SIGNATURE.match(value)
    if key.endswith("tokens"):
        return _COUNTS.fullmatch(value[:40]) is not None
    return key.endswith("key") and "api" in key and value.replace("_", "").lower() in KAFKA_REQUESTS


def is_prose(rest: str, *, is_password: bool) -> bool:
    """Whether a sentence goes on after the colon of a key: `Failed to obtain token: connection refused`."""
    word = _FIRST_WORD.match(rest)
    if word and word[0].lower() in _STATUS and rest[word.end() : word.end() + 1] in ("", " ", ",", ".", ":"):
        return True
    return not is_password and (_PROSE.match(rest) is not None or _CLASS.match(rest) is not None)
