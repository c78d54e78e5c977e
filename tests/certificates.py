"""Certificates without key identifiers. Go programs accept them, and Python's strict check refuses them."""

from __future__ import annotations

import ipaddress
import ssl
from base64 import b64encode
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import NameOID

LIFE = timedelta(days=2)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its key, in PEM files."""

    certificate: Path
    key: Path

    @property
    def certificate_data(self) -> str:
        return b64encode(self.certificate.read_bytes()).decode()

    @property
    def key_data(self) -> str:
        return b64encode(self.key.read_bytes()).decode()


class Authority:
    """An authority that issues certificates into a folder."""

    def __init__(self, folder: Path, name: str = "kubernetes") -> None:
        """Make the authority's own certificate, `NAME.crt`, or use the one that is there."""
        folder.mkdir(exist_ok=True)
        self._folder = folder
        self._name = _named(name)
        self.file, key = folder / f"{name}.crt", folder / f"{name}.key"
        if key.exists():
            loaded = load_pem_private_key(key.read_bytes(), None)
            assert isinstance(loaded, ec.EllipticCurvePrivateKey)
            self._key = loaded
        else:
            self._key = ec.generate_private_key(ec.SECP256R1())
            self._write(name, self._name, self._key, (x509.BasicConstraints(ca=True, path_length=None),))

    @property
    def data(self) -> str:
        """The certificate as a kubeconfig holds it."""
        return b64encode(self.file.read_bytes()).decode()

    def issue(self, name: str, *alternatives: str, life: timedelta = LIFE) -> KeyPair:
        """Issue a certificate for a subject, and for other names and addresses of a server, until `life` from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        extensions = (x509.SubjectAlternativeName([_alternative(one) for one in alternatives]),) if alternatives else ()
        return self._write(name, _named(name), key, extensions, life)

    def server_context(self, pair: KeyPair) -> ssl.SSLContext:
        """Return the context of a server that asks for client certificates of this authority."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(pair.certificate, pair.key)
        context.load_verify_locations(self.file)
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        context.verify_mode = ssl.CERT_OPTIONAL
        return context

    def _write(
        self,
        name: str,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        extensions: tuple[x509.ExtensionType, ...],
        life: timedelta = LIFE,
    ) -> KeyPair:
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - LIFE)
            .not_valid_after(now + life)
        )
        for extension in extensions:
            builder = builder.add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
        certificate = builder.sign(self._key, hashes.SHA256())
        pair = KeyPair(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        pair.certificate.write_bytes(certificate.public_bytes(Encoding.PEM))
        pair.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return pair


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
