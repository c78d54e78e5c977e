"""Impersonation: the headers for a kubeconfig user's `as`, `as-uid`, `as-groups` and `as-user-extra`."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from moorage.errors import CredentialsError
from moorage.runtime.client.authentication import HEADER_VALUE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from moorage.runtime.client.kubeconfig import KubeconfigEntry, KubeconfigUser

HEADER_NAME_CHARACTERS = "!#$%&'*+-.^_`|~"
"""What a header's name may hold beside letters and digits (RFC 9110, token)."""


def impersonation_headers(entry: KubeconfigEntry[KubeconfigUser]) -> Sequence[tuple[str, str]]:
    """Return the headers in client-go's order; raise CredentialsError that names the field.

    Upstream: impersonatingRoundTripper in staging/src/k8s.io/client-go/transport/round_trippers.go.
    """
    headers = list(_headers(entry.value))
    if headers and not entry.value.as_:
        raise CredentialsError(f"{entry.field('as')} must be set where as-uid, as-groups or as-user-extra is")
    for name, value in headers:
        if not HEADER_VALUE.fullmatch(value):
            raise CredentialsError(f"{entry.field('as')} and its kin cannot be sent: {name} cannot carry {value!r}")
    return headers


def _headers(user: KubeconfigUser) -> Iterator[tuple[str, str]]:
    if user.as_:
        yield "Impersonate-User", user.as_
    if user.as_uid:
        yield "Impersonate-Uid", user.as_uid
    for group in user.as_groups:
        yield "Impersonate-Group", group
    for key, values in user.as_user_extra.items():
        name = f"Impersonate-Extra-{quote(key, safe=HEADER_NAME_CHARACTERS.replace('%', ''))}"
        for value in values:
            yield name, value
