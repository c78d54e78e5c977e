"""TLS contexts that follow changes of their files. A broken file leaves the last context in use."""

import logging
import os
import ssl
from pathlib import Path

import pytest
import trustme

from fakes import FakeClock
from moorage.errors import CredentialsError, UnusableTls
from moorage.runtime.tls.pem import Pem
from moorage.runtime.tls.tls_contexts import RELOAD_SECONDS, ClientTls, TlsContexts

pytestmark = pytest.mark.tls

CA = trustme.CA()
OTHER_CA = trustme.CA()


class Rotation:
    """The files of a client certificate and its authority, and the contexts from them."""

    def __init__(self, folder: Path) -> None:
        self.ca, self.certificate, self.key = (folder / name for name in ("ca.crt", "tls.crt", "tls.key"))
        self.clock = FakeClock()
        self.write(CA)
        settings = ClientTls(
            Pem("caFile", path=str(self.ca)),
            Pem("certFile", path=str(self.certificate)),
            Pem("keyFile", path=str(self.key)),
        )
        self.contexts = TlsContexts(lambda: settings, "The TLS configuration", self.clock, strict=False)

    def write(self, ca: trustme.CA) -> None:
        client = ca.issue_cert("client@example.com")
        self.ca.write_bytes(ca.cert_pem.bytes())
        self.certificate.write_bytes(client.cert_chain_pems[0].bytes())
        self.key.write_bytes(client.private_key_pem.bytes())

    def later(self) -> ssl.SSLContext:
        self.clock.now += RELOAD_SECONDS
        return self.contexts.current()


@pytest.fixture
def rotation(tmp_path: Path) -> Rotation:
    return Rotation(tmp_path)


def test_changed_files_give_a_new_context_within_a_minute(rotation: Rotation) -> None:
    first = rotation.contexts.current()
    assert rotation.later() is first
    rotation.write(OTHER_CA)
    assert rotation.contexts.current() is first
    assert rotation.later() is not first


@pytest.mark.parametrize("name", ["ca", "certificate", "key"])
@pytest.mark.parametrize("fault", ["missing", "empty", "half", "unreadable"])
def test_a_broken_file_leaves_the_last_context_in_use_and_is_logged_once(
    rotation: Rotation, caplog: pytest.LogCaptureFixture, name: str, fault: str
) -> None:
    caplog.set_level(logging.INFO)
    first = rotation.contexts.current()
    file: Path = getattr(rotation, name)
    content = file.read_bytes()
    file.unlink()
    if fault == "unreadable":
        file.mkdir()
    elif fault != "missing":
        file.write_bytes(content[: len(content) // 2] if fault == "half" else b"")
    for _ in range(3):
        assert rotation.later() is first
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert caplog.messages[0].startswith("The TLS configuration cannot be used; its last good state stays in use")
    assert str(file) in caplog.messages[0] or fault == "half"

    file.rmdir() if fault == "unreadable" else file.unlink(missing_ok=True)
    rotation.write(OTHER_CA)
    assert rotation.later() is not first
    assert caplog.messages[1:] == ["The TLS configuration can be used again"]


def test_a_key_of_another_certificate_leaves_the_last_context_in_use(rotation: Rotation) -> None:
    first = rotation.contexts.current()
    rotation.key.write_bytes(OTHER_CA.issue_cert("other@example.com").private_key_pem.bytes())
    assert rotation.later() is first


def test_the_first_context_must_be_usable(rotation: Rotation) -> None:
    rotation.ca.write_text("-----BEGIN CERTIFICATE-----\nhalf")
    with pytest.raises(CredentialsError, match="caFile holds no usable certificate"):
        rotation.contexts.current()
    rotation.write(CA)
    rotation.contexts.current()


def test_an_empty_authority_file_does_not_mean_the_systems_authorities(rotation: Rotation) -> None:
    rotation.ca.write_text("")
    with pytest.raises(CredentialsError, match=r"caFile names .*/ca\.crt, which holds no PEM"):
        rotation.contexts.current()


def test_new_settings_give_a_new_context_at_once() -> None:
    settings = [ClientTls(), ClientTls(verify=False)]
    contexts = TlsContexts(lambda: settings[0], "it", FakeClock(), strict=True)
    first = contexts.current()
    settings.pop(0)
    assert contexts.current() is not first
    assert contexts.current().verify_mode is ssl.CERT_NONE


def test_strict_verification_can_be_switched_off() -> None:
    assert not ClientTls().context(strict=False).verify_flags & ssl.VERIFY_X509_STRICT


def test_a_server_cannot_make_the_client_compute_long_keys() -> None:
    context = ClientTls().context(strict=False)
    assert "kx-dhe" not in {cipher["kea"] for cipher in context.get_ciphers()}
    assert context.options & ssl.OP_NO_RENEGOTIATION


@pytest.mark.parametrize(
    ("path", "reason"), [("/dev/zero", "it is larger than 1048576 bytes"), ("pipe", "it is a pipe")]
)
def test_a_file_that_is_a_device_or_a_pipe_is_refused(tmp_path: Path, path: str, reason: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnusableTls, match=f"names {tmp_path / path}, which cannot be read: {reason}"):
        Pem("certificate-authority", path=str(tmp_path / path)).read()
