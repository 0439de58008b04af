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
KEYTOOL_TIMEOUT_SECONDS = 30

SAME_MEANING = {
    "bootstrap.servers": "bootstrap_servers",
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "request.timeout.ms": "request_timeout_ms",
    "sasl.kerberos.service.name": "sasl_kerberos_service_name",
    "ssl.key.password": "ssl_password",
}
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI")


def parse_properties(text: str) -> dict[str, str]:
    """Return the properties of a text in Java's format: comments, continued lines, `=`, `:` or a space as separator."""
    parsed: dict[str, str] = {}
    joined = re.sub(r"(?<!\\)((?:\\\\)*)\\\r?\n[ \t]*", r"\1", text)
    for line in joined.splitlines():
        if line.strip() and line.lstrip()[0] not in "#!" and (match := LINE.match(line)):
            parsed[_unescape(match[1])] = _unescape(match[2])
    return parsed


def _unescape(text: str) -> str:
    text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), text)
    return re.sub(r"\\(.)", lambda match: {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}.get(match[1], match[1]), text)


MOST_BYTES = 1 << 20
"""Of a file of properties: people write a few lines, and PEM certificates."""

LONGEST_INT = 2**31 - 1


def read_properties_file(file: Path) -> dict[str, str]:
    """Return the properties of a file. UsageError where it cannot be read."""
    try:
        with file.open("rb") as opened:
            content = opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"--command-config {file} cannot be read: {error.strerror}.") from error
    if len(content) > MOST_BYTES:
        raise UsageError(f"--command-config {file} is no file of properties: it is larger than {MOST_BYTES >> 20} MiB.")
    return parse_properties(content.decode("utf-8", "surrogateescape"))


def _milliseconds(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(LONGEST_INT)) and 0 < int(text) <= LONGEST_INT):
        raise UsageError(f"request.timeout.ms in --command-config takes milliseconds, not {text!r}.")
    return int(text)


def python_client_settings(java_properties: Mapping[str, str], folder: Path) -> dict[str, object]:
    """Return the Python client's settings. Key stores are converted to PEM files in `folder`.

    UsageError names a setting that the Python client does not support, and an alternative. Settings without a meaning
    for it are ignored.
    """
    settings: dict[str, object] = {
        ours: java_properties[key] for key, ours in SAME_MEANING.items() if java_properties.get(key)
    }
    if "request_timeout_ms" in settings:
        settings["request_timeout_ms"] = _milliseconds(str(settings["request_timeout_ms"]))
    if java_properties.get("ssl.endpoint.identification.algorithm") == "":
        settings["ssl_check_hostname"] = False
    return settings | _sasl(java_properties) | _truststore(java_properties, folder) | _keystore(java_properties, folder)


def _sasl(java_properties: Mapping[str, str]) -> dict[str, object]:
    if not java_properties.get("security.protocol", "").upper().startswith("SASL"):
        return {}
    mechanism = java_properties.get("sasl.mechanism", "GSSAPI").upper()
    if mechanism not in MECHANISMS:
        raise UsageError(
            f"sasl.mechanism={mechanism} is not supported, only {', '.join(MECHANISMS)}. Use Kafka's own tools: "
            "leadsman collect kafka --print-commands"
        )
    login = dict(_jaas_options(java_properties.get("sasl.jaas.config", "")))
    settings: dict[str, object] = {"sasl_mechanism": mechanism}
    if mechanism != "GSSAPI":
        if not {"username", "password"} <= login.keys():
            raise UsageError("sasl.jaas.config contains no username and password.")
        settings |= {"sasl_plain_username": login["username"], "sasl_plain_password": login["password"]}
    return settings


def _jaas_options(config: str) -> Iterator[tuple[str, str]]:
    """Yield the options of a JAAS module; a quoted value can contain quotes after a backslash."""
    for name, double, single, bare in JAAS.findall(config):
        yield name, re.sub(r"\\(.)", r"\1", double or single) or bare


def _truststore(java_properties: Mapping[str, str], folder: Path) -> dict[str, object]:
    if certificates := java_properties.get("ssl.truststore.certificates"):
        return {"ssl_cafile": _write_private(folder / "trusted.pem", certificates.replace("\\n", "\n"))}
    store = java_properties.get("ssl.truststore.location")
    if not store:
        return {}
    if _store_type(java_properties, "ssl.truststore", store) == "PEM":
        return {"ssl_cafile": store}
    secret = java_properties.get("ssl.truststore.password", "")
    certificates = _keytool("-list", "-rfc", "-keystore", store, "-storepass:env", "SECRET", secret=secret)
    return {"ssl_cafile": _write_private(folder / "trusted.pem", certificates)}


def _keystore(java_properties: Mapping[str, str], folder: Path) -> dict[str, object]:
    key, chain = java_properties.get("ssl.keystore.key"), java_properties.get("ssl.keystore.certificate.chain")
    if key and chain:
        files = _write_private(folder / "own.key", key), _write_private(folder / "own.pem", chain)
        return {"ssl_keyfile": files[0], "ssl_certfile": files[1]}
    store = java_properties.get("ssl.keystore.location")
    if not store:
        return {}
    kind = _store_type(java_properties, "ssl.keystore", store)
    if kind == "PEM":
        return {"ssl_keyfile": store, "ssl_certfile": store}
    secret = java_properties.get("ssl.keystore.password", "")
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
    pem = _run_with_secret("openssl", "pkcs12", "-in", pkcs12, "-nodes", "-passin", "env:SECRET", secret=secret)
    own = _write_private(folder / "own.pem", pem)
    return {"ssl_keyfile": own, "ssl_certfile": own}


def _store_type(java_properties: Mapping[str, str], prefix: str, store: str) -> str:
    """Return the configured type of the store, else the type that its first bytes show; Java's default is JKS."""
    if store_type := java_properties.get(f"{prefix}.type"):
        return store_type.upper()
    try:
        first_bytes = Path(store).read_bytes()[:64]
    except OSError as error:
        raise UsageError(f"{prefix}.location={store} cannot be read: {error.strerror}.") from error
    if b"-----BEGIN" in first_bytes:
        return "PEM"
    return "JKS" if first_bytes.startswith(b"\xfe\xed\xfe\xed") else "PKCS12"


def _keytool(*arguments: str, secret: str) -> str:
    from leadsman.java import runtime  # only a Java key store needs it

    beside = runtime.find_java().resolve().with_name("keytool")
    return _run_with_secret(str(beside) if beside.exists() else "keytool", *arguments, secret=secret)


def _run_with_secret(*command: str, secret: str) -> str:
    """Run a program with the secret in its environment: a command line would be visible in the list of processes."""
    program = shutil.which(command[0])
    if program is None:
        raise UsageError(f"A Java key store needs {command[0]} to read it. Install it, or give the store as PEM.")
    done = subprocess.run(
        [program, *command[1:]],
        env={"SECRET": secret, "PATH": "/usr/bin:/bin", "LC_ALL": "C"},
        capture_output=True,
        text=True,
        timeout=KEYTOOL_TIMEOUT_SECONDS,
        check=False,
    )
    if done.returncode:
        message = " ".join((done.stdout + done.stderr).split())[:300]
        raise UsageError(f"{Path(command[0]).name} could not read the key store: {message}")
    return done.stdout


def _write_private(path: Path, text: str) -> str:
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")
    return str(path)
