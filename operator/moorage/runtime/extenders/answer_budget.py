"""The limit on the bytes of all answers of extenders that the process holds at the same time.

The length of each answer is limited too, but many extenders may send long answers at once.
"""

from __future__ import annotations

from typing import Self

MAX_ANSWERS_BYTES = 256 << 20
"""Enough for two answers with 5,000 whole nodes each, if a node has 25 kB."""


class BudgetSpent(Exception):  # noqa: N818 - becomes an ExtenderError at once
    """The answers of other calls leave too few bytes for an answer."""


class AnswerBudget:
    """The bytes of answers that the process may still hold."""

    def __init__(self, limit: int = MAX_ANSWERS_BYTES) -> None:
        """Start with `limit` bytes."""
        self._limit = limit
        self._left = limit

    def part(self) -> BudgetPart:
        """Return the part of the budget for one answer. The part is empty at first."""
        return BudgetPart(self)

    def take(self, size: int) -> None:
        """Take bytes. If too few are left, take none and raise BudgetSpent."""
        if size > self._left:
            raise BudgetSpent(f"the answers of all extenders together are longer than {self._limit} bytes")
        self._left -= size

    def give_back(self, size: int) -> None:
        """Give back bytes that were taken."""
        self._left += size


class BudgetPart:
    """The bytes that one answer has taken. The end of the `with` block gives them back."""

    def __init__(self, budget: AnswerBudget) -> None:
        self._budget = budget
        self._taken = 0

    def take(self, size: int) -> None:
        """Take more bytes; raise BudgetSpent if too few are left."""
        self._budget.take(size)
        self._taken += size

    def __enter__(self) -> Self:
        """Return this part."""
        return self

    def __exit__(self, *_: object) -> None:
        """Give back all bytes."""
        self._budget.give_back(self._taken)
        self._taken = 0
