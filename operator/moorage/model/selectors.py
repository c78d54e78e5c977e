"""Label selectors and node selectors, decoded once and matched often.

`metav1.LabelSelector` and `v1.NodeSelector` have separate classes, because their operators differ. Also, an empty label
selector matches everything, but an empty term of a node selector matches nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Labels = Mapping[str, str]

_INT64_MAX = 2**63 - 1
_INT64_DIGITS = 19
_DECIMAL = frozenset("0123456789")


@dataclass(frozen=True, slots=True)
class Requirement:
    """A requirement on one label; `operator` is In, NotIn, Exists, DoesNotExist, Gt or Lt."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def __str__(self) -> str:
        """Return the requirement as kubectl writes it in a selector: `zone in (a,b)`."""
        values = ",".join(sorted(self.values))
        match self.operator:
            case "Exists":
                return self.key
            case "DoesNotExist":
                return f"!{self.key}"
            case "Gt" | "Lt":
                return f"{self.key}{'>' if self.operator == 'Gt' else '<'}{values}"
            case _:
                return f"{self.key} {self.operator.lower()} ({values})"

    def matches(self, labels: Labels) -> bool:
        """Return whether labels meet the requirement; labels without the key meet NotIn and DoesNotExist."""
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
                return value is not None and self._compare(value)
            case _:
                return False

    def _compare(self, value: str) -> bool:
        """Return whether Gt or Lt holds between two 64-bit integers; False if one of them is not an integer."""
        if len(self.values) != 1:
            return False
        left, right = parse_int64(value), parse_int64(next(iter(self.values)))
        if left is None or right is None:
            return False
        return left > right if self.operator == "Gt" else left < right


def parse_int64(text: str) -> int | None:
    """Parse a base-10 int64 as Go's `strconv.ParseInt(text, 10, 64)` does; return None for other text."""
    digits = text[1:] if text[:1] in {"+", "-"} else text
    if not digits or not _DECIMAL.issuperset(digits):
        return None
    significant = digits.lstrip("0") or "0"
    if len(significant) > _INT64_DIGITS:  # int() raises ValueError for thousands of digits
        return None
    number = -int(significant) if text[0] == "-" else int(significant)
    return number if -_INT64_MAX - 1 <= number <= _INT64_MAX else None


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """A `metav1.LabelSelector`: labels must meet all requirements.

    If a field has None instead of a selector, nothing matches.
    """

    requirements: tuple[Requirement, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the selector matches everything."""
        return not self.requirements

    def matches(self, labels: Labels) -> bool:
        """Return whether labels meet every requirement."""
        return all(requirement.matches(labels) for requirement in self.requirements)


@dataclass(frozen=True, slots=True)
class NodeSelectorTerm:
    """A `v1.NodeSelectorTerm`: a node must meet all `expressions` (on labels) and `fields` (on metadata.name).

    A term with an `error` is invalid and matches no node.
    """

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()
    error: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether the term has no requirements; such a term matches no node."""
        return not self.expressions and not self.fields


@dataclass(frozen=True, slots=True)
class NodeSelector:
    """A `v1.NodeSelector`: a node must meet one of the terms; without terms the selector matches no node."""

    terms: tuple[NodeSelectorTerm, ...] = ()


@dataclass(frozen=True, slots=True)
class PreferredSchedulingTerm:
    """A `v1.PreferredSchedulingTerm`: nodes that meet the term gain the weight, 1 to 100."""

    weight: int
    term: NodeSelectorTerm
