"""Decodes fields that the first pass over an object leaves as raw JSON, and adds field paths to errors."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar, cast

from msgspec import Raw, json

T = TypeVar("T")

NULL = Raw(b"null")


def read(raw: Raw, kind: type[T]) -> T | None:
    """Decode a raw field; return None for `null` or an absent field, raise ValueError for JSON of another type."""
    if raw == NULL:
        return None
    decoder: json.Decoder[T] = _decoder(cast("Hashable", kind))
    return decoder.decode(raw)


@contextmanager
def error_path(path: str) -> Iterator[None]:
    """Put the path of a field in front of the message of each ValueError that the block raises."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


@cache
def _decoder(kind: Hashable) -> json.Decoder[Any]:
    """Return the decoder of a type, from a cache: building a decoder takes a hundred times as long as decoding."""
    return json.Decoder(kind)
