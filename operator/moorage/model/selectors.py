"""Label selectors and node selectors: parsed once, matched often.

`metav1.LabelSelector` and `v1.NodeSelector` differ in their operators and in what emptiness means, so they are two
families here: an empty label selector matches everything, an empty node selector term nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement on one label: `operator` is In, NotIn, Exists, DoesNotExist, Gt or Lt."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def matches(self, labels: Labels) -> bool:
        """Whether labels meet the requirement; NotIn and DoesNotExist are also met where the key is absent."""
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value is not None and value in self.values
            case "NotIn":
                return value is None or value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "Gt" | "Lt":
                return value is not None and self._compares(value)
            case _:
                return False

    def _compares(self, value: str) -> bool:
        """Compare as 64-bit integers; what does not parse does not match."""
        if len(self.values) != 1:
            return False
        left, right = parse_int64(value), parse_int64(next(iter(self.values)))
        if left is None or right is None:
            return False
        return left > right if self.operator == "Gt" else left < right


_INT64_MAX = 2**63 - 1
_INT64_DIGITS = 19
_DECIMAL = frozenset("0123456789")


def parse_int64(text: str) -> int | None:
    """Read a base-10 int64 as Go's `strconv.ParseInt(text, 10, 64)` does, or None."""
    digits = text[1:] if text[:1] in {"+", "-"} else text
    if not digits or not _DECIMAL.issuperset(digits):
        return None
    significant = digits.lstrip("0") or "0"
    if len(significant) > _INT64_DIGITS:  # Python refuses to read numbers of thousands of digits
        return None
    number = -int(significant) if text[0] == "-" else int(significant)
    return number if -_INT64_MAX - 1 <= number <= _INT64_MAX else None


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """A `metav1.LabelSelector`: all requirements must hold. No selector at all (None, elsewhere) matches nothing."""

    requirements: tuple[Requirement, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether it matches everything."""
        return not self.requirements

    def matches(self, labels: Labels) -> bool:
        """Whether labels meet every requirement."""
        return all(requirement.matches(labels) for requirement in self.requirements)


@dataclass(frozen=True, slots=True)
class NodeSelectorTerm:
    """All expressions (over labels) and fields (over metadata.name) must hold; `error` says why it cannot be read."""

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()
    error: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether the term states nothing, and so matches no node."""
        return not self.expressions and not self.fields


@dataclass(frozen=True, slots=True)
class NodeSelector:
    """Terms of which one must hold; without terms it matches no node."""

    terms: tuple[NodeSelectorTerm, ...] = ()


@dataclass(frozen=True, slots=True)
class PreferredSchedulingTerm:
    """A weight (1 to 100) and the node selector term that earns it."""

    weight: int
    term: NodeSelectorTerm
