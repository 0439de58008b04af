"""TLS certificates that are not accepted: the wordings of TLS libraries, in any program."""

from __future__ import annotations

from leadsman import vocabulary as v
from leadsman.telemetry.source import Signature, Source

EXPIRED, EARLY, PRESENTED, UNTRUSTED, HOSTNAME = (
    {"reason": reason} for reason in ("expired", "early", "presented_expired", "untrusted", "hostname")
)
"""`presented_expired`: the other side rejects the certificate that this program presented."""

NOT_AFTER = r"(?:: NotAfter: (?P<expired_at>\w{3} \w{3} \d\d [\d:]{8} \w{2,5} \d{4}))?"
NOT_YET = (
    r"CertificateNotYetValidException|certificate is not yet valid|CERT_NOT_YET_VALID|"
    r"or is not yet valid: current time [^ \n]{10,40} is before"
)

HANDSHAKE = (
    r"errors\.SslAuthenticationException: |SSL handshake failed|certificate verify failed|"
    r"Received fatal alert: (?:bad_certificate|certificate_|handshake_failure)|PKIX path validation failed"
)
"""Failures that do not name the reason: an event of their own, because the reason stands further down a trace."""

# Java, OpenSSL (librdkafka, Python, Node.js), Go.
SOURCE = Source(
    "certificates",
    "TLS certificates",
    "application",
    (
        Signature(v.TLS_FAILED, HANDSHAKE, names_source=False),
        *(
            Signature(v.CERTIFICATE_REJECTED, pattern, labels=reason, names_source=False)
            for pattern, reason in (
                (rf"CertificateExpiredException{NOT_AFTER}", EXPIRED),
                (r"certificate has expired|CERT_HAS_EXPIRED", EXPIRED),
                (NOT_YET, EARLY),
                (r"alert certificate expired|[Rr]eceived fatal alert: certificate_expired", PRESENTED),
                (r"PKIX path building failed|unable to find valid certification path", UNTRUSTED),
                (r"certificate signed by unknown authority|unknown_ca\b|self[ -]signed certificate", UNTRUSTED),
                (
                    r"broker certificate could not be verified|unable to (?:get local issuer|verify the first)",
                    UNTRUSTED,
                ),
                (r"No subject alternative (?:DNS )?names? |No name matching [^ \n]{1,255} found", HOSTNAME),
                (r"x509: certificate is valid for|ostname mismatch, certificate is not valid", HOSTNAME),
            )
        ),
    ),
)
