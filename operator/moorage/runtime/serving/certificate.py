"""The certificate that the endpoints are served with: the user's, or one made at the start, as kube-scheduler does."""

from __future__ import annotations

import ipaddress
import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from moorage.errors import CredentialsError

if TYPE_CHECKING:
    from collections.abc import Sequence

VALID_DAYS = 365
CLOCK_SKEW = timedelta(hours=1)
"""How far a client's clock may be behind ours."""


def serving_context(cert_file: str | None, key_file: str | None, names: Sequence[str]) -> ssl.SSLContext:
    """Return a server's TLS context from the files, or with a self-signed certificate for `names` without them.

    Raises CredentialsError that names the file that cannot be used.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if cert_file and key_file:
        try:
            context.load_cert_chain(cert_file, key_file)
        except OSError as error:  # ssl.SSLError is one
            raise CredentialsError(f"the serving certificate {cert_file} cannot be used: {error}") from error
        return context
    # The ssl module reads certificates from files only; this one is gone before anybody is served.
    with tempfile.NamedTemporaryFile(suffix=".pem") as file:
        Path(file.name).write_bytes(self_signed(names, datetime.now(UTC)))
        context.load_cert_chain(file.name)
    return context


def self_signed(names: Sequence[str], now: datetime) -> bytes:
    """Make a key and a certificate for host names and addresses, in PEM, the key first."""
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
