"""Reads an extender's `tlsConfig` as settings of a TLS context.

As in kube-scheduler, data wins over files, any certificate may be an authority, and `tlsConfig` counts whether or not
`enableHTTPS` is set: the scheme of `urlPrefix` decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.errors import Fault
from moorage.runtime.tls.pem import Pem
from moorage.runtime.tls.tls_contexts import ClientTls, TlsContexts

if TYPE_CHECKING:
    from moorage.api.extender import Extender, ExtenderTLSConfig
    from moorage.runtime.clock import Clock


def check_tls(extender: Extender) -> list[Fault]:
    """Return everything for which the extender's TLS settings cannot be used; paths are relative to the extender."""
    if extender.tls_config is None:
        return []
    faults = _settings(extender.tls_config).faults()
    return [Fault(tuple(fault.field.split(".")), None, fault.message) for fault in faults]


def extender_tls(configuration: ExtenderTLSConfig, extender: str, clock: Clock) -> TlsContexts:
    """Return the TLS contexts for an extender, which the log names by its address `extender`."""
    settings = _settings(configuration)
    return TlsContexts(lambda: settings, f"tlsConfig of the extender {extender}", clock, strict=False)


def _settings(configuration: ExtenderTLSConfig) -> ClientTls:
    return ClientTls(
        authority=_pem("ca", configuration.ca_data, configuration.ca_file),
        certificate=_pem("cert", configuration.cert_data, configuration.cert_file),
        key=_pem("key", configuration.key_data, configuration.key_file),
        verify=not configuration.insecure,
        trusts_any_certificate=True,
    )


def _pem(name: str, data: str | None, path: str | None) -> Pem | None:
    if data:
        return Pem(f"tlsConfig.{name}Data", data=data)
    return Pem(f"tlsConfig.{name}File", path=path) if path else None
