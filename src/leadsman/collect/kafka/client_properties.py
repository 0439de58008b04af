"""Reads a Java client's properties, as the tools' `--command-config` takes them, for the Python client."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LINE = re.compile(r"\s*((?:[^\s=:\\]|\\.)+)\s*[=:\s]\s*(.*)$")
JAAS = re.compile(r"""(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;]+))""")
KEYTOOL_WITHIN_SECONDS = 30

PLAIN = {
    "bootstrap.servers": "bootstrap_servers",
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "request.timeout.ms": "request_timeout_ms",
    "sasl.kerberos.service.name": "sasl_kerberos_service_name",
    "ssl.key.password": "ssl_password",
}
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI")


def properties(text: str) -> dict[str, str]:
    """Return the properties of a file in Java's format: comments, continued lines, `=`, `:` or a space between."""
    found: dict[str, str] = {}
    joined = re.sub(r"(?<!\\)((?:\\\\)*)\\\r?\n[ \t]*", r"\1", text)
    for line in joined.splitlines():
        if line.strip() and line.lstrip()[0] not in "#!" and (match := LINE.match(line)):
            found[_unescaped(match[1])] = _unescaped(match[2])
    return found


def _unescaped(text: str) -> str:
    text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
    return re.sub(r"\\(.)", lambda found: {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}.get(found[1], found[1]), text)


def read(file: Path) -> dict[str, str]:
    """Return the properties of a file. UsageError where it cannot be read."""
    try:
        return properties(file.read_text(encoding="utf-8", errors="surrogateescape"))
    except OSError as error:
        raise UsageError(f"--command-config {file} cannot be read: {error.strerror}.") from error


def settings(given: Mapping[str, str], folder: Path) -> dict[str, object]:
    """Return the Python client's settings. `folder` is where stores are put that it takes as PEM files only.

    UsageError names what it cannot do, and how else to go about it. Settings that do not matter here are passed over.
    """
    told: dict[str, object] = {ours: given[key] for key, ours in PLAIN.items() if given.get(key)}
    if "request_timeout_ms" in told:
        told["request_timeout_ms"] = int(str(told["request_timeout_ms"]))
    if given.get("ssl.endpoint.identification.algorithm") == "":
        told["ssl_check_hostname"] = False
    return told | _sasl(given) | _truststore(given, folder) | _keystore(given, folder)


def _sasl(given: Mapping[str, str]) -> dict[str, object]:
    if not given.get("security.protocol", "").upper().startswith("SASL"):
        return {}
    mechanism = given.get("sasl.mechanism", "GSSAPI").upper()
    if mechanism not in MECHANISMS:
        raise UsageError(
            f"sasl.mechanism={mechanism} is not among {', '.join(MECHANISMS)}. Where only that works, use Kafka's own "
            "tools: leadsman collect kafka --print-commands"
        )
    named = dict(_login(given.get("sasl.jaas.config", "")))
    told: dict[str, object] = {"sasl_mechanism": mechanism}
    if mechanism != "GSSAPI":
        if not {"username", "password"} <= named.keys():
            raise UsageError("sasl.jaas.config has no username and password in it.")
        told |= {"sasl_plain_username": named["username"], "sasl_plain_password": named["password"]}
    return told


def _login(config: str) -> Iterator[tuple[str, str]]:
    """Yield the options of a JAAS module; quoted ones can hold quotes behind a backslash."""
    for name, double, single, bare in JAAS.findall(config):
        yield name, re.sub(r"\\(.)", r"\1", double or single) or bare


def _truststore(given: Mapping[str, str], folder: Path) -> dict[str, object]:
    if certificates := given.get("ssl.truststore.certificates"):
        return {"ssl_cafile": _written(folder / "trusted.pem", certificates.replace("\\n", "\n"))}
    store = given.get("ssl.truststore.location")
    if not store:
        return {}
    if _kind(given, "ssl.truststore", store) == "PEM":
        return {"ssl_cafile": store}
    secret = given.get("ssl.truststore.password", "")
    listed = _keytool("-list", "-rfc", "-keystore", store, "-storepass:env", "SECRET", secret=secret)
    return {"ssl_cafile": _written(folder / "trusted.pem", listed)}


def _keystore(given: Mapping[str, str], folder: Path) -> dict[str, object]:
    key, chain = given.get("ssl.keystore.key"), given.get("ssl.keystore.certificate.chain")
    if key and chain:
        files = _written(folder / "own.key", key), _written(folder / "own.pem", chain)
        return {"ssl_keyfile": files[0], "ssl_certfile": files[1]}
    store = given.get("ssl.keystore.location")
    if not store:
        return {}
    kind = _kind(given, "ssl.keystore", store)
    if kind == "PEM":
        return {"ssl_keyfile": store, "ssl_certfile": store}
    secret = given.get("ssl.keystore.password", "")
    pkcs12 = store if kind == "PKCS12" else str(folder / "own.p12")
    if kind == "JKS":
        stores = ("-srckeystore", store, "-destkeystore", pkcs12, "-deststoretype", "PKCS12")
        _keytool(
            "-importkeystore",
            "-noprompt",
            *stores,
            "-srcstorepass:env",
            "SECRET",
            "-deststorepass:env",
            "SECRET",
            secret=secret,
        )
    pem = _ran("openssl", "pkcs12", "-in", pkcs12, "-nodes", "-passin", "env:SECRET", secret=secret)
    own = _written(folder / "own.pem", pem)
    return {"ssl_keyfile": own, "ssl_certfile": own}


def _kind(given: Mapping[str, str], prefix: str, store: str) -> str:
    """Return what is said of the store, or else what its first bytes say: Java's own default is JKS for all of them."""
    if said := given.get(f"{prefix}.type"):
        return said.upper()
    try:
        head = Path(store).read_bytes()[:64]
    except OSError as error:
        raise UsageError(f"{prefix}.location={store} cannot be read: {error.strerror}.") from error
    if b"-----BEGIN" in head:
        return "PEM"
    return "JKS" if head.startswith(b"\xfe\xed\xfe\xed") else "PKCS12"


def _keytool(*words: str, secret: str) -> str:
    from leadsman import java  # noqa: PLC0415 - only where a store is Java's own

    beside = java.find().resolve().with_name("keytool")
    return _ran(str(beside) if beside.exists() else "keytool", *words, secret=secret)


def _ran(*words: str, secret: str) -> str:
    """Run a program that is told the secret by its environment, where no list of processes shows it."""
    program = shutil.which(words[0])
    if program is None:
        raise UsageError(f"A Java key store needs {words[0]} to read it. Install it, or give the store as PEM.")
    done = subprocess.run(
        [program, *words[1:]],
        env={"SECRET": secret, "PATH": "/usr/bin:/bin", "LC_ALL": "C"},
        capture_output=True,
        text=True,
        timeout=KEYTOOL_WITHIN_SECONDS,
        check=False,
    )
    if done.returncode:
        told = " ".join((done.stdout + done.stderr).split())[:300]
        raise UsageError(f"{Path(words[0]).name} could not read the key store: {told}")
    return done.stdout


def _written(path: Path, text: str) -> str:
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")
    return str(path)
