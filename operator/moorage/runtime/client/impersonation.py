"""Impersonation: the headers for a kubeconfig user's `as`, `as-uid`, `as-groups` and `as-user-extra`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from moorage.errors import CredentialsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from moorage.runtime.client.kubeconfig import KubeconfigEntry, KubeconfigUser

UNQUOTED = "!#$&'*+-.^_`|~"
"""The characters, besides letters and digits, that a header's name may contain unencoded (RFC 9110, token)."""

VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]*")
"""Matches what Go accepts in a header's value: no control characters except tabs. It is sent as UTF-8."""
SPACES = " \t"
"""Go removes these characters from both ends of a header's value."""


def impersonation_headers(entry: KubeconfigEntry[KubeconfigUser]) -> Sequence[tuple[str, str]]:
    """Return the headers in client-go's order; raise CredentialsError that names the field.

    Upstream: impersonatingRoundTripper in staging/src/k8s.io/client-go/transport/round_trippers.go.
    """
    headers = list(_headers(entry.value))
    if headers and not entry.value.as_:
        raise CredentialsError(f"{entry.field(headers[0][0])} needs the field as; set it too")
    for field, _, value in headers:
        if not VALUE.fullmatch(value):
            raise CredentialsError(f"{entry.field(field)} is {value!r}, which an HTTP header cannot contain")
    return [(name, value.strip(SPACES)) for _, name, value in headers]


def _headers(user: KubeconfigUser) -> Iterator[tuple[str, str, str]]:
    """Yield the field, the header's name and the header's value."""
    if user.as_:
        yield "as", "Impersonate-User", user.as_
    if user.as_uid:
        yield "as-uid", "Impersonate-Uid", user.as_uid
    for group in user.as_groups:
        yield "as-groups", "Impersonate-Group", group
    for key, values in user.as_user_extra.items():
        name = f"Impersonate-Extra-{quote(key, safe=UNQUOTED)}"
        for value in values:
            yield "as-user-extra", name, value
