"""Reads the parts of an object that were left raw when it was decoded."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar, cast

from msgspec import Raw, json

T = TypeVar("T")

NULL = Raw(b"null")


def read(raw: Raw, kind: type[T]) -> T | None:
    """Decode a raw part, None where it is `null` or absent; raise ValueError where it is something else."""
    if raw == NULL:
        return None
    decoder: json.Decoder[T] = _decoder(cast("Hashable", kind))
    return decoder.decode(raw)


@contextmanager
def at(path: str) -> Iterator[None]:
    """Put the path of a field before what is wrong inside it."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


@cache
def _decoder(kind: Hashable) -> json.Decoder[Any]:
    """Build a type's decoder once: that takes a hundred times as long as decoding with it."""
    return json.Decoder(kind)
