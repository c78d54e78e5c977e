"""The certificates and keys that moorage passes to OpenSSL. It leaves out keys that OpenSSL would read slowly."""

from base64 import b64decode, b64encode

import pytest
import trustme
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from moorage.runtime.tls.pem_blocks import certificates_in, private_key_in

CA = trustme.CA()
CERTIFICATE = CA.cert_pem.bytes()

RSA = rsa.generate_private_key(65537, 2048)
EC = ec.generate_private_key(ec.SECP384R1())
DSA = dsa.generate_private_key(1024)
PKCS8, TRADITIONAL = PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL
USABLE = [
    RSA.private_bytes(Encoding.PEM, PKCS8, NoEncryption()),
    RSA.private_bytes(Encoding.PEM, TRADITIONAL, NoEncryption()),
    EC.private_bytes(Encoding.PEM, PKCS8, NoEncryption()),
    EC.private_bytes(Encoding.PEM, TRADITIONAL, NoEncryption()),
    ed25519.Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PKCS8, NoEncryption()),
    ed448.Ed448PrivateKey.generate().private_bytes(Encoding.PEM, PKCS8, NoEncryption()),
]
SLOW = DSA.private_bytes(Encoding.PEM, PKCS8, NoEncryption())
EC_PARAMETERS = b"-----BEGIN EC PARAMETERS-----\nBgUrgQQAIg==\n-----END EC PARAMETERS-----\n"


def body_of(pem: bytes) -> bytes:
    return b64decode(b"".join(line for line in pem.splitlines() if b"-----" not in line))


@pytest.mark.parametrize("pem", USABLE)
def test_keys_that_connections_use_are_kept(pem: bytes) -> None:
    assert body_of(private_key_in(EC_PARAMETERS + CERTIFICATE + pem)) == body_of(pem)


@pytest.mark.parametrize("label", ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "DSA PRIVATE KEY"])
def test_a_key_for_which_openssl_computes_the_public_part_is_refused_under_each_label(label: str) -> None:
    with pytest.raises(ValueError, match="holds a key of another kind than RSA, ECDSA and Ed25519; use one of these"):
        private_key_in(SLOW.replace(b" PRIVATE KEY", f" {label}".encode()))


@pytest.mark.parametrize(
    ("pem", "message"),
    [
        (b"", "holds no private key that can be read"),
        (CERTIFICATE, "holds no private key that can be read"),
        (b"-----BEGIN PRIVATE KEY-----\n***\n-----END PRIVATE KEY-----\n", "holds no private key that can be read"),
        (b"-----BEGIN PRIVATE KEY-----\n" + b64encode(b"x" * 6000), "holds a key that is too long; use an RSA key"),
        (b"-----BEGIN PRIVATE KEY-----\n" + b64encode(b"x" * 60), "holds a key of another kind"),
        (b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAA=", "is encrypted; use a key without a password"),
    ],
)
def test_unusable_keys_are_refused_with_the_reason(pem: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        private_key_in(pem)


def test_only_certificates_of_an_authority_are_kept() -> None:
    kept = certificates_in(b"# ours\n" + SLOW + CERTIFICATE + b"# theirs\n" + USABLE[0] + CERTIFICATE)
    assert kept == CERTIFICATE + b"# theirs\n" + CERTIFICATE
