"""Reads an extender's `tlsConfig` as settings of a TLS context.

As in kube-scheduler, data is preferred to files, and any certificate may be an authority. `tlsConfig` is used if the
scheme of `urlPrefix` is https; `enableHTTPS` has no effect. An extender of a policy may name only files below one
directory. Files are read in a thread: a slow file system must not stop the event loop.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from moorage.api.policy_extender import PolicyExtender, PolicyExtenderTLSConfig
from moorage.errors import Fault
from moorage.runtime.tls.pem import Pem
from moorage.runtime.tls.tls_contexts import ClientTls, TlsContexts

if TYPE_CHECKING:
    from ssl import SSLContext

    from moorage.api.extender import Extender, ExtenderTLSConfig
    from moorage.runtime.extenders.extender_context import ExtenderContext

NOWHERE = Path("/nonexistent")
"""The directory of policies' files if the operator's flag sets none."""


class ExtenderTls:
    """The TLS context for connections to one extender."""

    def __init__(self, contexts: TlsContexts) -> None:
        """Keep the settings; `current` reads the files."""
        self._contexts = contexts
        self._reading: asyncio.Task[SSLContext] | None = None

    async def current(self) -> SSLContext:
        """Return the context. Raise UnusableTls only if no usable context existed before.

        All callers wait for the same thread, so that a file system that hangs blocks only one thread for each extender.
        """
        recent = self._contexts.recent()
        if recent is not None:
            return recent
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(asyncio.to_thread(self._contexts.current))
        return await asyncio.shield(self._reading)


def check_tls(extender: Extender) -> list[Fault]:
    """Return all faults of the extender's TLS settings, with paths that start at the extender.

    Files that a policy names are not read here. The extender's first call reads them.
    """
    if extender.tls_config is None:
        return []
    settings = _settings(extender.tls_config, NOWHERE)
    if isinstance(extender, PolicyExtender):
        settings = _without_files(settings)
    return [Fault(tuple(fault.field.split(".")), None, fault.message) for fault in settings.faults()]


def extender_tls(configuration: ExtenderTLSConfig, extender: str, context: ExtenderContext) -> ExtenderTls:
    """Return the TLS context of an extender. `extender` is the extender's address, for the log."""
    settings, subject = (
        _settings(configuration, context.policy_files or NOWHERE),
        f"tlsConfig of the extender {extender}",
    )
    return ExtenderTls(TlsContexts(lambda: settings, subject, context.clock, strict=context.tls_strict))


def _settings(configuration: ExtenderTLSConfig, policy_files: Path) -> ClientTls:
    below = policy_files if isinstance(configuration, PolicyExtenderTLSConfig) else None
    return ClientTls(
        authority=_pem("ca", configuration.ca_data, configuration.ca_file, below),
        certificate=_pem("cert", configuration.cert_data, configuration.cert_file, below),
        key=_pem("key", configuration.key_data, configuration.key_file, below),
        verify=not configuration.insecure,
    )


def _pem(name: str, data: str | None, path: str | None, below: Path | None) -> Pem | None:
    if data:
        return Pem(f"tlsConfig.{name}Data", data=data)
    return Pem(f"tlsConfig.{name}File", path=path, below=below) if path else None


def _without_files(settings: ClientTls) -> ClientTls:
    authority = settings.authority if settings.authority and settings.authority.data else None
    has_data = all(pem is not None and pem.data for pem in (settings.certificate, settings.key))
    if has_data:
        return replace(settings, authority=authority)
    return replace(settings, authority=authority, certificate=None, key=None)
