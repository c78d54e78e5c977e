"""Decodes fields of storage objects, with the field's path in errors."""

from __future__ import annotations

from moorage.model.api_selectors import ApiLabelSelector
from moorage.model.decode_selectors import decode_label_selector
from moorage.model.quantity import Amount, value
from moorage.model.raw_fields import error_path
from moorage.model.selectors import LabelSelector


def decode_bytes(amount: Amount | None, path: str) -> int | None:
    """Return a quantity in bytes, or None if `amount` is None; raise ValueError with the path if it is invalid."""
    if amount is None:
        return None
    with error_path(path):
        return value(amount)


def decode_selector(selector: ApiLabelSelector | None, path: str) -> LabelSelector | None:
    """Return the selector, or None if `selector` is None; raise ValueError with the path of an invalid requirement."""
    try:
        return decode_label_selector(selector)
    except ValueError as error:
        raise ValueError(f"{path}.{error}") from error
