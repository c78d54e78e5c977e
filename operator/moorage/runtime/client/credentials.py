"""Finds the API server and the credentials for it, in a kubeconfig or in a pod's service account."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from moorage.errors import CredentialsError
from moorage.runtime.client.authentication import FileTokens
from moorage.runtime.client.impersonation import impersonation_headers
from moorage.runtime.client.kubeconfig_files import files_of
from moorage.runtime.client.kubeconfig_tokens import KubeconfigTokens
from moorage.runtime.client.proxy import Proxy, proxy_of_environment
from moorage.runtime.tls.pem import Pem
from moorage.runtime.tls.tls_contexts import ClientTls

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from moorage.runtime.client.authentication import Tokens
    from moorage.runtime.clock import Clock

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True)
class Credentials:
    """The API server's address, and the means to authenticate to it."""

    server: str
    """Without a trailing slash, such as `https://10.0.0.1:6443`."""
    tokens: Tokens
    tls: Callable[[], ClientTls] | None = None
    """Returns the current TLS settings; None for plain HTTP."""
    tls_server_name: str | None = None
    """The name that the server's certificate must contain. None means the host of the address."""
    proxy: Proxy | None = None
    source: str = "given"
    """The source of the credentials, for the log."""
    headers: Sequence[tuple[str, str]] = ()
    """Sent with every request, in addition to Authorization."""
    namespace: str = "default"
    """The default namespace of commands."""


async def load_credentials(
    kubeconfig: str | None,
    clock: Clock,
    *,
    context: str | None = None,
    environ: Mapping[str, str] = os.environ,
    service_account: Path = SERVICE_ACCOUNT,
) -> Credentials:
    """Return credentials from `kubeconfig`, `$KUBECONFIG`, the service account or `~/.kube/config`, in this order.

    Raise CredentialsError that names the source and the fault.
    """
    chosen = kubeconfig or environ.get("KUBECONFIG")
    if chosen:
        source = "" if kubeconfig else " ($KUBECONFIG)"
        return _with_proxy(await _from_kubeconfig(chosen, context, clock, source), environ)
    if environ.get("KUBERNETES_SERVICE_HOST"):
        if context:
            raise CredentialsError(f"the context {context!r} needs a kubeconfig; set --kubeconfig or $KUBECONFIG too")
        return _with_proxy(_from_service_account(service_account, environ, clock), environ)
    home = Path(environ.get("HOME", ""), ".kube", "config")
    if not home.is_file():  # noqa: ASYNC240 - once, at the start
        raise CredentialsError(
            f"no API server is known: --kubeconfig and $KUBECONFIG are not set, {home} does not exist, and this is not "
            "a pod with a service account; set one of them"
        )
    return _with_proxy(await _from_kubeconfig(str(home), context, clock, ""), environ)


def _with_proxy(credentials: Credentials, environ: Mapping[str, str]) -> Credentials:
    """Add the environment's proxy if the kubeconfig names no proxy."""
    return replace(credentials, proxy=credentials.proxy or proxy_of_environment(credentials.server, environ))


async def _from_kubeconfig(paths: str, context: str | None, clock: Clock, origin: str) -> Credentials:
    files = files_of(paths)
    tokens = KubeconfigTokens(files, context, clock)
    chosen = await tokens.load()
    cluster, user = chosen.cluster.value, chosen.user.value
    shown = os.pathsep.join(map(str, files))
    impersonated = f", impersonating {user.as_}" if user.as_ else ""
    return Credentials(
        server=cluster.address,
        tokens=tokens,
        tls=tokens.tls if cluster.uses_tls else None,
        tls_server_name=cluster.tls_server_name or None,
        proxy=Proxy.parse(chosen.cluster.field("proxy-url"), cluster.proxy_url) if cluster.proxy_url else None,
        source=f"the context {chosen.name} of the kubeconfig {shown}{origin}{impersonated}",
        headers=impersonation_headers(chosen.user),
        namespace=chosen.namespace or "default",
    )


def _from_service_account(folder: Path, environ: Mapping[str, str], clock: Clock) -> Credentials:
    """Return a pod's credentials. Upstream: InClusterConfig in staging/src/k8s.io/client-go/rest/config.go."""
    host, port = environ["KUBERNETES_SERVICE_HOST"], environ.get("KUBERNETES_SERVICE_PORT")
    if not port:
        raise CredentialsError("$KUBERNETES_SERVICE_HOST is set, but not $KUBERNETES_SERVICE_PORT; set both")
    tls = ClientTls(authority=Pem("the service account", path=str(folder / "ca.crt")))
    tls.read()
    return Credentials(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        tokens=FileTokens(folder / "token", clock),
        tls=lambda: tls,
        source=f"the service account in {folder}",
    )
