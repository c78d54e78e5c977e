"""TLS contexts of clients, from files or data that may change while the process runs.

Certificates are rotated, and a file may be incomplete at the moment when it is read. If there is a good context
already, this is not an error: the last good context stays in use.
"""

from __future__ import annotations

import logging
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING

from moorage.errors import UnusableTls
from moorage.runtime.fault_log import FaultLog
from moorage.runtime.tls.pem import Pem, as_file, load_identity, reason_of
from moorage.runtime.tls.pem_blocks import certificates_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from moorage.runtime.clock import Clock

logger = logging.getLogger(__name__)

RELOAD_SECONDS = 60.0
"""Interval at which the files behind a context are read again."""
RELOAD_PAUSE_SECONDS = 1.0
"""After a failed handshake or request, the files are read again only if the last read is at least this old."""


@dataclass(frozen=True, slots=True)
class ClientTls:
    """The settings of a client's TLS context."""

    authority: Pem | None = None
    """The certificates to trust. As in Go, they need not be roots. None means the system's authorities."""
    certificate: Pem | None = None
    """The client's own certificate; it needs `key`."""
    key: Pem | None = None
    verify: bool = True

    def read(self) -> tuple[bytes | None, ...]:
        """Return the PEM texts as they are now; raise UnusableTls if one cannot be read."""
        authority = self.authority if self.verify else None
        return tuple(pem.read() if pem else None for pem in (authority, self.certificate, self.key))

    def faults(self) -> Iterator[UnusableTls]:
        """Yield all faults that prevent a context.

        Authorities are checked without a context where possible, because policies may have thousands of extenders:
        OpenSSL needs 0.2 ms to load a certificate, and 20 ms to load the system's authorities.
        """
        for step in (self._check_authority, lambda: self._present_in(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))):
            try:
                step()
            except UnusableTls as error:
                yield error

    def context(self, *, strict: bool) -> ssl.SSLContext:
        """Build a context; raise UnusableTls that names the field.

        `strict` sets VERIFY_X509_STRICT, which is the default in Python 3.13 but not in Go. The authorities of EKS, GKE
        and microk8s do not pass this check.
        """
        context = self._trusting()
        if strict:
            context.verify_flags |= ssl.VERIFY_X509_STRICT
        else:
            context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        self._present_in(context)
        return context

    def _trusting(self) -> ssl.SSLContext:
        context = self._anchored() or ssl.create_default_context()
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        _leave_out_slow_handshakes(context)
        return context

    def _anchored(self) -> ssl.SSLContext | None:
        """Return a context that trusts the named certificates; None if the settings name none."""
        return _anchored_in(self.authority) if self.authority and self.verify else None

    def _check_authority(self) -> None:
        if not self.authority or not self.verify:
            return
        from cryptography import x509  # takes 60 ms, and most processes have no such settings

        try:
            x509.load_pem_x509_certificates(certificates_in(self.authority.read()))
        except ValueError:
            _anchored_in(self.authority)  # OpenSSL accepts some certificates that this library does not

    def _present_in(self, context: ssl.SSLContext) -> None:
        if self.certificate and self.key:
            load_identity(context, self.certificate, self.key)


class TlsContexts:
    """The TLS context for new connections to one server."""

    def __init__(self, settings: Callable[[], ClientTls], subject: str, clock: Clock, *, strict: bool) -> None:
        """Read no file yet. `settings` returns the current settings; `subject` names them in the log."""
        self._settings = settings
        self._clock = clock
        self._strict = strict
        self._context: ssl.SSLContext | None = None
        self._built_from: tuple[object, ...] = ()
        self._checked = settings()
        self._checked_at = 0.0
        self._faults = FaultLog(logger, subject)

    def current(self) -> ssl.SSLContext:
        """Return the context. Raise UnusableTls only if no usable context existed before."""
        now, settings = self._clock.monotonic(), self._settings()
        if self._context is None:
            self._context = self._built(settings)
        elif (recent := self.recent()) is not None:
            return recent
        else:
            self._reload(settings)
        self._checked, self._checked_at = settings, now
        return self._context

    def recent(self) -> ssl.SSLContext | None:
        """Return the context if `current` would return it without reading a file."""
        is_recent = self._settings() is self._checked and self._clock.monotonic() - self._checked_at < RELOAD_SECONDS
        return self._context if is_recent else None

    def reload(self) -> None:
        """Read everything again, because the server refused this client.

        If the settings are the same, do nothing within RELOAD_PAUSE_SECONDS of the last read.
        """
        now, settings = self._clock.monotonic(), self._settings()
        if settings is not self._checked or now - self._checked_at >= RELOAD_PAUSE_SECONDS:
            self._reload(settings)
            self._checked, self._checked_at = settings, now

    def _reload(self, settings: ClientTls) -> None:
        try:
            if (settings, settings.read()) != self._built_from:
                self._context = self._built(settings)
        except UnusableTls as error:  # perhaps in the middle of a rotation
            self._faults.report(error)
        else:
            self._faults.end()

    def _built(self, settings: ClientTls) -> ssl.SSLContext:
        content = settings, settings.read()
        context = settings.context(strict=self._strict)
        self._built_from = content
        return context


def _anchored_in(authority: Pem) -> ssl.SSLContext:
    with as_file(certificates_in(authority.read())) as path:
        try:
            return ssl.create_default_context(cafile=path)
        except OSError as error:  # ssl.SSLError is an OSError
            raise UnusableTls(authority.field, f"holds no usable certificate ({reason_of(error)})") from error


def _leave_out_slow_handshakes(context: ssl.SSLContext) -> None:
    """Disable Diffie-Hellman without elliptic curves, and renegotiation, as Go's clients do.

    Otherwise a server could choose a key for which the event loop computes for a second.
    """
    context.set_ciphers(":".join(cipher["name"] for cipher in context.get_ciphers() if cipher["kea"] != "kx-dhe"))
    context.options |= ssl.OP_NO_RENEGOTIATION
