"""The proxy to the API server: the kubeconfig's `proxy-url`, or the value of an environment variable.

The rules are the same as in Go's clients: golang.org/x/net/http/httpproxy/proxy.go. Go ignores an invalid variable and
connects directly. moorage raises an error that names the variable, because a cluster behind a proxy cannot be reached
directly.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING

from yarl import URL

from moorage.errors import CredentialsError
from moorage.runtime.client.authentication import basic

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from ipaddress import IPv4Address

PROXY_SCHEMES = frozenset({"http", "https"})
SOCKS_SCHEMES = frozenset({"socks4", "socks5", "socks5h"})
VARIABLES = {"http": ("HTTP_PROXY", "http_proxy"), "https": ("HTTPS_PROXY", "https_proxy")}
"""The variables for each scheme of a server's address. The first variable that is not empty is used."""
NO_PROXY_VARIABLES = ("NO_PROXY", "no_proxy")


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy."""

    url: URL
    """The address without user and password, so that messages can show it."""
    source: str
    """The name of the variable or of the field, such as `$HTTPS_PROXY`."""
    authorization: str | None = None
    """The value of Proxy-Authorization; None if the header is not sent."""

    @classmethod
    def parse(cls, source: str, text: str) -> Proxy:
        """Return the proxy with the address `text`; raise CredentialsError that names `source`."""
        example = "an HTTP proxy such as http://10.0.0.1:3128"
        try:
            url = URL(text)
            is_address = bool(url.host) and url.port != 0
        except ValueError as error:
            raise CredentialsError(f"{source} must be {example}: {error}") from error
        if url.scheme in SOCKS_SCHEMES:
            raise CredentialsError(f"{source} names a SOCKS proxy, which is not supported; set {example}")
        if url.scheme not in PROXY_SCHEMES or not is_address:
            raise CredentialsError(f"{source} must be {example}, not {shown(text)!r}")
        has_user = url.user is not None or url.password is not None
        authorization = basic(url.user or "", url.password or "") if has_user else None
        return cls(url.with_user(None).with_path("/"), source, authorization)

    def __str__(self) -> str:
        """Return the proxy for messages, without user and password."""
        return f"{str(self.url).rstrip('/')} ({self.source})"


def proxy_of_environment(server: str, environ: Mapping[str, str]) -> Proxy | None:
    """Return the proxy that the environment names for a server; None for a direct connection.

    Raise CredentialsError that names the variable if its value is not valid.
    """
    url = URL(server)
    name, address = _first_set(VARIABLES.get(url.scheme, ()), environ)
    host = url.raw_host or ""
    if not address or _is_local(host):
        return None
    _, exceptions = _first_set(NO_PROXY_VARIABLES, environ)
    if any(_matches(entry, host, url.port or 0) for entry in _entries(exceptions)):
        return None
    return Proxy.parse(f"${name}", address if "://" in address else f"http://{address}")


def shown(address: str) -> str:
    """Return an address without user and password."""
    scheme, separator, rest = address.rpartition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"


def _first_set(names: tuple[str, ...], environ: Mapping[str, str]) -> tuple[str, str]:
    return next(((name, environ[name]) for name in names if environ.get(name)), ("", ""))


def _is_local(host: str) -> bool:
    address = _address(host)
    return host == "localhost" if address is None else address.is_loopback


def _entries(exceptions: str) -> Iterator[str]:
    for part in exceptions.split(","):
        entry = part.strip().lower()
        if entry:
            yield entry if entry.isascii() else _ascii(entry)


def _ascii(name: str) -> str:
    """Return an internationalized name in its ASCII form (IDNA). An invalid name stays unchanged."""
    try:
        return name.encode("idna").decode()
    except UnicodeError:
        return name


def _matches(entry: str, host: str, port: int) -> bool:
    """Return whether an entry of NO_PROXY covers a server."""
    if entry == "*":
        return True
    address = _address(host)
    if "/" in entry:
        return address is not None and _contains(entry, address)
    named, named_port = _split_port(entry)
    if named_port not in {"", str(port)}:
        return False
    named_address = _address(named)
    if named_address is not None or address is not None:
        return named_address == address
    suffix = named[1:] if named.startswith("*.") else named
    is_name = not suffix.startswith(".") and suffix == host.lower()
    return bool(suffix) and (is_name or host.lower().endswith(f".{suffix.removeprefix('.')}"))


def _contains(network: str, address: IPv4Address | IPv6Address) -> bool:
    try:
        return network.rpartition("/")[2].isdecimal() and address in ip_network(network, strict=False)
    except ValueError:
        return False


def _split_port(entry: str) -> tuple[str, str]:
    """Return the host and the port of an entry; the port is empty if there is none."""
    if entry.startswith("[") and "]:" in entry:
        host, _, port = entry[1:].partition("]:")
        return host, port
    if entry.count(":") == 1:
        host, _, port = entry.partition(":")
        return host, port
    return entry, ""


def _address(host: str) -> IPv4Address | IPv6Address | None:
    """Return the IP address; None for a name. An IPv4 address in IPv6 form equals the IPv4 address, as in Go."""
    try:
        address = ip_address(host)
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address
