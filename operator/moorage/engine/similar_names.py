"""Finds names that differ by one edit: a character inserted, deleted or replaced, or two neighbours swapped."""

from collections.abc import Iterator

LONGEST_NAME = 64
"""One character more than the schedulerName of a policy may have. A longer name is not similar to any policy's name."""


class SimilarNames:
    """A set of names, with a search for similar names.

    Two similar names become equal if at most one character is deleted from each. Each name is indexed by all its forms
    without one character. So the time of a search depends on the length of a name, not on the number of names.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._by_form: dict[str, set[str]] = {}

    def add(self, name: str) -> None:
        """Add a name."""
        for form in _forms(name):
            self._by_form.setdefault(form, set()).add(name)

    def discard(self, name: str) -> None:
        """Remove a name if it is here."""
        for form in _forms(name):
            names = self._by_form.get(form, set())
            names.discard(name)
            if not names:
                self._by_form.pop(form, None)

    def find(self, name: str) -> str:
        """Return the alphabetically first name that is similar to `name`; empty if there is none."""
        if not self._by_form or len(name) > LONGEST_NAME:
            return ""
        found = (other for form in _forms(name) for other in self._by_form.get(form, ()))
        return min((other for other in found if are_similar(name, other)), default="")


def are_similar(one: str, other: str) -> bool:
    """Return whether two names differ by one edit."""
    longer, shorter = (one, other) if len(one) > len(other) else (other, one)
    if len(longer) - len(shorter) > 1:
        return False
    start = next((index for index, pair in enumerate(zip(longer, shorter, strict=False)) if len(set(pair)) > 1), None)
    if start is None:
        return len(longer) > len(shorter)
    longer, shorter = longer[start:], shorter[start:]
    if len(longer) > len(shorter):
        return longer[1:] == shorter
    is_swapped = longer[:2] == shorter[1::-1] and longer[2:] == shorter[2:]
    return is_swapped or longer[1:] == shorter[1:]


def _forms(name: str) -> Iterator[str]:
    """Yield the name, and the name without each of its characters."""
    yield name
    for index in range(len(name)):
        yield name[:index] + name[index + 1 :]
