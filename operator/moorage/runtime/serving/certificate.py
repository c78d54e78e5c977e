"""The certificate of the HTTP endpoints: read from the user's files, or created at the start, as in kube-scheduler."""

from __future__ import annotations

import ipaddress
import ssl
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from moorage.runtime.tls.pem import Pem, load_identity

if TYPE_CHECKING:
    from collections.abc import Sequence

VALID_DAYS = 365
CLOCK_SKEW = timedelta(hours=1)
"""The time by which a client's clock may be slow."""


def serving_context(cert_file: str | None, key_file: str | None, names: Sequence[str]) -> ssl.SSLContext:
    """Return a TLS context with the certificate in the files, or with a new self-signed one for `names`.

    Raise CredentialsError that names a file if the file cannot be used.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if cert_file and key_file:
        certificate, key = Pem("--tls-cert-file", path=cert_file), Pem("--tls-private-key-file", path=key_file)
    else:
        made = b64encode(self_signed(names, datetime.now(UTC))).decode()
        certificate = key = Pem("the self-signed certificate", data=made)
    load_identity(context, certificate, key)
    return context


def self_signed(names: Sequence[str], now: datetime) -> bytes:
    """Return a new key and a certificate for host names and addresses, in PEM, the key first."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "moorage")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + timedelta(days=VALID_DAYS))
        .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return private + certificate.public_bytes(serialization.Encoding.PEM)


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
