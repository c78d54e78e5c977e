"""Finds the certificates and the private key in a PEM text, so that OpenSSL receives nothing else.

OpenSSL ignores the label of a block and decodes its content. For a DSA or Diffie-Hellman key, OpenSSL computes the
public part. This takes minutes if the author of the text has chosen long numbers. Connections cannot use such keys
anyway. So OpenSSL gets only certificates, and only keys of a kind that it reads fast.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode

BEGIN = b"-----BEGIN "
DASHES = b"-----"
CERTIFICATE_LABELS = {b"CERTIFICATE", b"X509 CERTIFICATE", b"TRUSTED CERTIFICATE"}
KEY_LABELS = {b"PRIVATE KEY", b"RSA PRIVATE KEY", b"EC PRIVATE KEY"}
ENCRYPTED = b"ENCRYPTED"
"""A part of `BEGIN ENCRYPTED PRIVATE KEY` and of the header `Proc-Type: 4,ENCRYPTED`."""
MAX_KEY_BYTES = 5120
"""More bytes than an RSA key of 8,192 bits has. Go refuses longer RSA keys. Signing with such a key takes 50 ms."""

_LENGTH = rb"(?:[\x00-\x7f]|\x81.|\x82..)"
_SEQUENCE = rb"\x30" + _LENGTH
_RSA = rb"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01[\x01\x0a]"
_EC = rb"\x06\x07\x2a\x86\x48\xce\x3d\x02\x01"
_ED = rb"\x06\x03\x2b\x65[\x70\x71]"
_USABLE_KEY = re.compile(
    _SEQUENCE
    + rb"(?:\x02\x01[\x00\x01]"
    + _SEQUENCE
    + rb"(?:"
    + _RSA
    + rb"|"
    + _EC
    + rb"|"
    + _ED
    + rb")"  # PKCS #8: version, algorithm
    + rb"|\x02\x01\x00\x02"  # PKCS #1, RSA: version, modulus
    + rb"|\x02\x01\x01\x04)",  # SEC 1, elliptic curves: version, key
    re.DOTALL,
)


def certificates_in(text: bytes) -> bytes:
    """Return the blocks of certificates and the text between them."""
    return b"".join(BEGIN + block for label, block in _blocks(text) if label in CERTIFICATE_LABELS)


def private_key_in(text: bytes) -> bytes:
    """Return the first private key as PEM. Raise ValueError if it cannot be used, or if there is no key."""
    label, block = next((found for found in _blocks(text) if found[0].endswith(b"PRIVATE KEY")), (b"", b""))
    if ENCRYPTED in block:
        raise ValueError("is encrypted; use a key without a password")
    body = block.removeprefix(label + DASHES).partition(DASHES)[0]
    try:
        key = b64decode(b"".join(body.split()), validate=True)
    except ValueError:  # binascii.Error is a ValueError
        key = b""
    if not key:
        raise ValueError("holds no private key that can be read")
    if len(key) > MAX_KEY_BYTES:
        raise ValueError("holds a key that is too long; use an RSA key of at most 8192 bits, or ECDSA or Ed25519")
    if label not in KEY_LABELS or not _USABLE_KEY.match(key):
        raise ValueError("holds a key of another kind than RSA, ECDSA and Ed25519; use one of these")
    return BEGIN + label + b"-----\n" + b64encode(key) + b"\n-----END " + label + b"-----\n"


def _blocks(text: bytes) -> list[tuple[bytes, bytes]]:
    """Return the label of each block, and the text from the label up to the next block."""
    return [(part.partition(DASHES)[0], part) for part in text.split(BEGIN)[1:]]
