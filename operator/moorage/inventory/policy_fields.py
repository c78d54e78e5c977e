"""Reduces a SchedulingPolicy to the metadata that moorage reads, and to its spec without credentials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from moorage.api.v1alpha1 import ObjectMeta

_METADATA = frozenset(field.alias or name for name, field in ObjectMeta.model_fields.items())
_CREDENTIALS = frozenset({"certData", "keyData", "certFile", "keyFile"})


def keep_policy_fields(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a policy's metadata and spec. Remove client certificates of extenders, and passwords in their URLs."""
    metadata = {key: value for key, value in (body.get("metadata") or {}).items() if key in _METADATA}
    spec = dict(body.get("spec") or {})
    if isinstance(extenders := spec.get("extenders"), list):
        spec["extenders"] = [_without_credentials(each) if isinstance(each, dict) else each for each in extenders]
    return {"metadata": metadata, "spec": spec}


def _without_credentials(extender: dict[str, Any]) -> dict[str, Any]:
    kept = dict(extender)
    if isinstance(tls := kept.get("tlsConfig"), dict):
        kept["tlsConfig"] = {key: value for key, value in tls.items() if key not in _CREDENTIALS}
    if isinstance(url := kept.get("urlPrefix"), str):
        kept["urlPrefix"] = _without_user(url)
    return kept


def _without_user(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
