"""Reads the values of single cells of a CSV file."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

MAX_AMOUNT = 10**12
"""The highest amount of a resource. It keeps all sums far below 2^63."""


class CellError(ValueError):
    """The value of a cell is invalid; the message names the column."""


def text_of(cells: Sequence[str], position: int | None) -> str:
    """Return the text of a cell; empty if the file does not have the column."""
    return "" if position is None else cells[position].strip()


def amount_of(column: str, cell: str, hint: str = "") -> int:
    """Return a whole number from 0 to MAX_AMOUNT."""
    if cell.isascii() and cell.isdecimal() and len(cell) <= len(str(MAX_AMOUNT)):
        amount = int(cell)
        if amount <= MAX_AMOUNT:
            return amount
    if not cell:
        raise CellError(f"{column} is empty")
    try:
        number = float(cell)
    except ValueError:
        raise CellError(f"{column} must be a whole number, not {cell!r}") from None
    if number < 0:
        raise CellError(f"{column} must not be below 0, but it is {cell}")
    if number > MAX_AMOUNT:
        raise CellError(f"{column} must be at most {MAX_AMOUNT}, but it is {cell}")
    if number.is_integer():
        return int(number)
    raise CellError(f"{column} must be a whole number, not {cell}{hint}")


def number_of(column: str, cell: str) -> float:
    """Return a finite number that is not below 0."""
    if not cell:
        raise CellError(f"{column} is empty")
    try:
        number = float(cell)
    except ValueError:
        raise CellError(f"{column} must be a number, not {cell!r}") from None
    if not isfinite(number):
        raise CellError(f"{column} must be a finite number, not {cell}")
    if number < 0:
        raise CellError(f"{column} must not be below 0, but it is {cell}")
    return number
