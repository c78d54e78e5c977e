"""Extenders over HTTPS: authorities, client certificates, and unusable settings."""

import ssl
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiohttp import TCPConnector

from certificates import Authority
from extenders.calling import Caller, calling, whole_nodes, whole_pod
from extenders.server import FakeExtender
from moorage.api.extender import Extender
from moorage.runtime.extenders.extender_tls import check_tls

pytestmark = pytest.mark.tls

CA = trustme.CA()
OTHER_CA = trustme.CA()
CLIENT = CA.issue_cert("client@example.com")


def base64_of(blob: trustme.Blob) -> str:
    return b64encode(blob.bytes()).decode()


CA_DATA = base64_of(CA.cert_pem)
CERT_DATA = base64_of(CLIENT.cert_chain_pems[0])
KEY_DATA = base64_of(CLIENT.private_key_pem)
OTHER_KEY_DATA = base64_of(CA.issue_cert("other@example.com").private_key_pem)


def serving(host: str = "localhost", *, wants_client: bool = False) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    CA.issue_cert(host).configure_cert(context)
    if wants_client:
        context.verify_mode = ssl.CERT_REQUIRED
        CA.configure_trust(context)
    return context


def over_tls(extender: FakeExtender, **tls: Any) -> dict[str, Any]:
    return {
        "urlPrefix": extender.url,
        "filterVerb": "filter",
        "nodeCacheCapable": True,
        "enableHTTPS": True,
        "tlsConfig": tls,
    }


async def error_of(caller: Caller) -> str:
    return (await caller.extenders.filter_and_prioritize(whole_pod(), whole_nodes("n1"))).error or ""


async def test_only_the_named_authority_is_trusted() -> None:
    async with FakeExtender(tls=serving()) as extender:
        async with calling(over_tls(extender, caData=CA_DATA)) as caller:
            assert await error_of(caller) == ""
        async with calling(over_tls(extender, caData=base64_of(OTHER_CA.cert_pem))) as caller:
            assert "CERTIFICATE_VERIFY_FAILED" in await error_of(caller)
        async with calling(over_tls(extender, insecure=True)) as caller:
            assert await error_of(caller) == ""


async def test_an_authority_without_key_identifiers_is_trusted_unless_checks_are_strict(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    async with FakeExtender(tls=authority.server_context(authority.issue("extender", "localhost"))) as extender:
        async with calling(over_tls(extender, caData=authority.data)) as caller:
            assert await error_of(caller) == ""
        async with calling(over_tls(extender, caData=authority.data), tls_strict=True) as caller:
            assert "Missing Authority Key Identifier" in await error_of(caller)


@pytest.mark.parametrize("strict", [False, True])
async def test_extenders_without_tls_settings_are_checked_in_the_same_way(*, strict: bool) -> None:
    async with calling(tls_strict=strict) as caller:
        connector = caller.context.session.connector
        assert isinstance(connector, TCPConnector)
        context = connector._ssl
        assert isinstance(context, ssl.SSLContext)
        assert bool(context.verify_flags & ssl.VERIFY_X509_STRICT) is strict


async def test_the_certificate_must_be_for_the_host_or_the_configured_server_name() -> None:
    async with FakeExtender(tls=serving("extender.example.com")) as extender:
        async with calling(over_tls(extender, caData=CA_DATA)) as caller:
            assert "Hostname mismatch" in await error_of(caller)
        async with calling(over_tls(extender, caData=CA_DATA, serverName="extender.example.com")) as caller:
            assert await error_of(caller) == ""


async def test_a_client_certificate_is_presented(tmp_path: Path) -> None:
    files = {"certFile": tmp_path / "tls.crt", "keyFile": tmp_path / "tls.key"}
    files["certFile"].write_bytes(CLIENT.cert_chain_pems[0].bytes())
    files["keyFile"].write_bytes(CLIENT.private_key_pem.bytes())
    async with FakeExtender(tls=serving(wants_client=True)) as extender:
        async with calling(over_tls(extender, caData=CA_DATA)) as caller:
            assert await error_of(caller) != ""
        async with calling(over_tls(extender, caData=CA_DATA, certData=CERT_DATA, keyData=KEY_DATA)) as caller:
            assert await error_of(caller) == ""
        named = {field: str(path) for field, path in files.items()}
        async with calling(over_tls(extender, caData=CA_DATA, **named)) as caller:
            assert await error_of(caller) == ""


async def test_a_missing_file_fails_the_call(tmp_path: Path) -> None:
    async with (
        FakeExtender(tls=serving()) as extender,
        calling(over_tls(extender, caFile=str(tmp_path / "ca.crt"))) as caller,
    ):
        assert await error_of(caller) == (
            f"extender {extender.url}/filter: "
            f"tlsConfig.caFile names {tmp_path}/ca.crt, which cannot be read: No such file or directory"
        )


def checked(**tls: Any) -> list[str]:
    body = {"urlPrefix": "https://extender", "filterVerb": "filter", "enableHTTPS": True, "tlsConfig": tls}
    return [str(fault) for fault in check_tls(Extender.model_validate(body))]


def test_usable_settings_have_no_fault() -> None:
    assert checked(caData=CA_DATA, certData=CERT_DATA, keyData=KEY_DATA) == []
    assert checked(insecure=True) == []
    assert checked(caData=b64encode(CA.cert_pem.bytes().replace(b" CERT", b" TRUSTED CERT")).decode()) == []
    assert check_tls(Extender.model_validate({"urlPrefix": "http://extender", "filterVerb": "filter"})) == []


ENCRYPTED_KEY = b64encode(
    b"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF"
    b"\n\nAAAAAAAAAAAAAAAAAAAAAA==\n-----END RSA PRIVATE KEY-----\n"
).decode()
SLOW_KEY = b64encode(b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAA=\n-----END ENCRYPTED PRIVATE KEY-----\n").decode()
"""A key of this form has its own number of iterations, so that its author decides how long OpenSSL decrypts it."""


@pytest.mark.parametrize(
    ("tls", "faults"),
    [
        ({"caData": "aGVsbG8="}, ["tlsConfig.caData: holds no PEM"]),
        ({"caData": "/w=="}, ["tlsConfig.caData: holds no PEM"]),
        ({"caData": "abcde"}, ["tlsConfig.caData: is not base64: "]),
        ({"caFile": "/nowhere"}, ["tlsConfig.caFile: names /nowhere, which cannot be read: No such file"]),
        (
            {"caData": "aGVsbG8=", "certData": CERT_DATA, "keyData": OTHER_KEY_DATA},
            [
                "tlsConfig.caData: ",
                "tlsConfig.certData: holds no usable certificate, or tlsConfig.keyData is not its key (key values mis",
            ],
        ),
        ({"caData": KEY_DATA}, ["tlsConfig.caData: holds no usable certificate (no certificate or crl found)"]),
        ({"caData": CA_DATA, "certData": CERT_DATA, "keyFile": "/nowhere"}, ["tlsConfig.keyFile: names /nowhere"]),
        (
            {"caData": CA_DATA, "certData": CERT_DATA, "keyData": ENCRYPTED_KEY},
            ["tlsConfig.keyData: is encrypted; use a key without a password"],
        ),
        (
            {"caData": CA_DATA, "certData": CERT_DATA, "keyData": SLOW_KEY},
            ["tlsConfig.keyData: is encrypted; use a key without a password"],
        ),
    ],
)
def test_every_fault_is_named_with_its_field(tls: dict[str, str], faults: list[str]) -> None:
    found = checked(**tls)

    assert len(found) == len(faults)
    for one, words in zip(found, faults, strict=True):
        assert one.startswith(words)
