"""What a kubeconfig may be: checked before it is used, so that faults are named by file and field."""

from __future__ import annotations

import binascii
import os
from base64 import b64decode
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import yaml

from moorage.errors import CredentialsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SCHEMES = frozenset({"http", "https"})
AUTHORITY_DATA = "certificate-authority-data"
CERTIFICATE_DATA = "client-certificate-data"
KEY_DATA = "client-key-data"
CLUSTER = "clusters[].cluster"
USER = "users[].user"


def field_of(path: str, where: str, name: str) -> str:
    """Name a field to users."""
    return f"{where}.{name} of the kubeconfig {path}"


def check_files(paths: str) -> None:
    """Check that each of `paths` (as $KUBECONFIG has them) is a mapping in YAML, if it is there, and that one is.

    Raises CredentialsError, as all here do.
    """
    files = [Path(part).expanduser() for part in paths.split(os.pathsep) if part]
    present = [file for file in files if file.exists()]
    if not present:
        raise CredentialsError(f"the kubeconfig {paths} does not exist")
    for file in present:
        _check_file(file)


def _check_file(file: Path) -> None:
    what = f"the kubeconfig {file}"
    if file.is_dir():
        raise CredentialsError(f"{what} is a directory")
    try:
        content = yaml.safe_load(file.read_bytes().decode("utf-8"))
    except OSError as error:
        raise CredentialsError(f"{what} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CredentialsError(f"{what} is not UTF-8: {error.reason} at byte {error.start}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise CredentialsError(f"{what} is not YAML: {error}") from error
    if content is None:
        raise CredentialsError(f"{what} is empty")
    if not isinstance(content, dict):
        raise CredentialsError(f"{what} must be a mapping with clusters, users and contexts")
    for name in ("clusters", "contexts", "users"):
        entries = content.get(name) or []
        if not isinstance(entries, list) or not all(isinstance(one, dict) and "name" in one for one in entries):
            raise CredentialsError(f"{name} of {what} must be a list of mappings, each with a name")


def check_cluster(path: str, cluster: Any) -> None:
    """Check the address of the context's cluster, and its authority."""
    if not isinstance(cluster, dict):
        raise CredentialsError(f"{CLUSTER} of the kubeconfig {path} must be a mapping")
    _check_server(field_of(path, CLUSTER, "server"), cluster.get("server"))
    _check_data(path, CLUSTER, cluster, [AUTHORITY_DATA])


def check_user(path: str, user: Any) -> None:
    """Check the certificate and the key of the context's user."""
    if not isinstance(user, dict):
        raise CredentialsError(f"{USER} of the kubeconfig {path} must be a mapping")
    _check_data(path, USER, user, [CERTIFICATE_DATA, KEY_DATA])


def _check_server(field: str, server: Any) -> None:
    example = "must be an address such as https://10.0.0.1:6443"
    if not isinstance(server, str):
        raise CredentialsError(f"{field} {example}" + ("" if server is None else f", not {server!r}"))
    try:
        url = urlsplit(server)
        is_fine = url.scheme in SCHEMES and bool(url.hostname) and url.port != 0
    except ValueError as error:
        raise CredentialsError(f"{field} {example}, not {server!r}: {error}") from error
    if not is_fine:
        raise CredentialsError(f"{field} {example}, not {server!r}")


def _check_data(path: str, where: str, fields: Mapping[str, Any], names: Iterable[str]) -> None:
    for name in names:
        data = fields.get(name)
        if not data:
            continue
        what = field_of(path, where, name)
        try:
            decoded = b64decode("".join(data.split()), validate=True)
        except (AttributeError, TypeError, ValueError, binascii.Error) as error:
            raise CredentialsError(f"{what} must be base64: {error}") from error
        if b"-----BEGIN " not in decoded:
            raise CredentialsError(f"{what} must be PEM in base64")
