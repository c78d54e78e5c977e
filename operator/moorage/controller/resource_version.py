"""Compares versions of one object. Since Kubernetes 1.35, the API defines resourceVersions as ordered numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def identity(manifest: Mapping[str, Any]) -> tuple[str, str]:
    """Return the uid and the resourceVersion of an object."""
    metadata = manifest.get("metadata") or {}
    return str(metadata.get("uid", "")), str(metadata.get("resourceVersion", ""))


def is_newer(version: str, other: str) -> bool:
    """Return whether a resourceVersion is newer than another version of the same object.

    If a version is not a number, return whether the versions differ. An empty version always counts as newer.
    """
    if version.isdecimal() and other.isdecimal():
        return int(version) > int(other)
    return version != other or not version
