"""How an extender is reached over HTTPS: its `tlsConfig` as a TLS context.

As with kube-scheduler, data wins over files, any certificate that is named as an authority is trusted as it is, and a
`tlsConfig` counts whether or not `enableHTTPS` is set: the scheme of `urlPrefix` decides.
"""

from __future__ import annotations

import base64
import binascii
import logging
import ssl
from pathlib import Path
from typing import TYPE_CHECKING

from moorage.errors import Fault
from moorage.runtime.client.client_tls import no_password
from moorage.runtime.client.tls_files import as_file

if TYPE_CHECKING:
    from moorage.api.extender import Extender, ExtenderTLSConfig
    from moorage.runtime.clock import Clock

logger = logging.getLogger(__name__)

RELOAD_SECONDS = 60.0
"""How often the files behind a context are looked at: certificates rotate."""


class UnusableTls(Exception):  # noqa: N818 - a part of a fault, never seen by anybody else
    """Something in `tlsConfig` cannot be used."""

    def __init__(self, field: str, message: str) -> None:
        """Name the field in its camelCase, and say what is wrong with it."""
        self.fault = Fault(("tlsConfig", field), None, message)
        super().__init__(str(self.fault))


def check_tls(extender: Extender) -> list[Fault]:
    """Return everything for which the extender's TLS settings cannot be used; paths are relative to the extender."""
    if extender.tls_config is None:
        return []
    faults = []
    for part in (_trusting, _presenting):
        try:
            part(extender.tls_config)
        except UnusableTls as error:
            faults.append(error.fault)
    return faults


class ExtenderTls:
    """The TLS context for new connections to one extender; it follows its files."""

    def __init__(self, configuration: ExtenderTLSConfig, clock: Clock) -> None:
        """Read nothing yet."""
        self._configuration = configuration
        self._clock = clock
        self._context: ssl.SSLContext | None = None
        self._stamps: tuple[float, ...] = ()
        self._checked_at = 0.0

    @property
    def server_name(self) -> str | None:
        """The name that the extender's certificate must carry; None: its host's."""
        return self._configuration.server_name

    def context(self) -> ssl.SSLContext:
        """Return the context; raises UnusableTls where there never was a usable one."""
        now = self._clock.monotonic()
        if self._context is None:
            self._checked_at, self._stamps = now, self._modified()
            self._context = tls_context(self._configuration)
        elif now - self._checked_at >= RELOAD_SECONDS:
            self._checked_at = now
            self._context = self._reloaded(self._context)
        return self._context

    def _reloaded(self, context: ssl.SSLContext) -> ssl.SSLContext:
        stamps = self._modified()
        if stamps == self._stamps:
            return context
        try:
            renewed = tls_context(self._configuration)
        except UnusableTls as error:  # half of a rotation, perhaps: look again the next time
            logger.warning("An extender's certificates changed and cannot be used, the last stay in use: %s", error)
            return context
        self._stamps = stamps
        return renewed

    def _modified(self) -> tuple[float, ...]:
        tls = self._configuration
        paths = [Path(path) for path in (tls.ca_file, tls.cert_file, tls.key_file) if path]
        return tuple(path.stat().st_mtime if path.exists() else 0.0 for path in paths)


def tls_context(configuration: ExtenderTLSConfig) -> ssl.SSLContext:
    """Build a context; raises UnusableTls that names the field."""
    return _presenting(configuration, _trusting(configuration))


def _trusting(configuration: ExtenderTLSConfig) -> ssl.SSLContext:
    """Build a context that trusts the authorities that are named, and only where there are none the system's."""
    if configuration.insecure:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    context = _anchored(configuration) if configuration.has_ca else ssl.create_default_context()
    # As Go has it: what was named is an anchor, and need not have every extension of RFC 5280.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def _anchored(configuration: ExtenderTLSConfig) -> ssl.SSLContext:
    field = "caData" if configuration.ca_data else "caFile"
    content = _content(field, configuration.ca_data, configuration.ca_file)
    try:
        return ssl.create_default_context(cadata=content.decode("ascii"))
    except UnicodeDecodeError as error:
        raise UnusableTls(field, "is not PEM: it holds bytes that are no text") from error
    except ssl.SSLError as error:
        raise UnusableTls(field, f"holds no certificate in PEM that can be read ({_words(error)})") from error


def _presenting(configuration: ExtenderTLSConfig, context: ssl.SSLContext | None = None) -> ssl.SSLContext:
    """Give the context the client certificate, if there is one."""
    context = context or ssl.create_default_context()
    if not (configuration.cert_data or configuration.cert_file):
        return context
    certificate_field = "certData" if configuration.cert_data else "certFile"
    key_field = "keyData" if configuration.key_data else "keyFile"
    certificate = _content(certificate_field, configuration.cert_data, configuration.cert_file)
    key = _content(key_field, configuration.key_data, configuration.key_file)
    with as_file(certificate) as certificate_path, as_file(key) as key_path:
        try:
            context.load_cert_chain(certificate_path, key_path, password=no_password)
        except ssl.SSLError as error:
            message = f"is no client certificate in PEM, or {key_field} is not its key ({_words(error)})"
            raise UnusableTls(certificate_field, message) from error
    return context


def _content(field: str, data: str | None, path: str | None) -> bytes:
    if data:
        try:
            return base64.b64decode(data)
        except binascii.Error as error:
            raise UnusableTls(field, f"is not base64: {error}") from error
    try:
        return Path(path or "").read_bytes()
    except OSError as error:
        raise UnusableTls(field, f"names {path}, which cannot be read: {error.strerror}") from error


def _words(error: ssl.SSLError) -> str:
    return (error.reason or str(error).partition(" (_ssl")[0]).replace("_", " ").lower()
