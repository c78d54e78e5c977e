"""Decodes the answers of kube-scheduler's extender protocol.

Answers are decoded as Go does: keys match in any case, null is the zero value, unknown keys are ignored. An answer that
cannot be decoded, or that names a node or pod outside the request, raises ValueError with the reason.
Upstream: staging/src/k8s.io/kube-scheduler/extender/v1/types.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, Struct

from moorage.engine.candidate import Candidate
from moorage.outside_text import one_line

if TYPE_CHECKING:
    from moorage.model.node import Node

INT64 = range(-(2**63), 2**63)
ADDABLE = range(-(2**58), 2**58 + 1)
"""The largest score that an extender may add to a node. With this limit, a node's total score fits into an int64."""
NUMBER_CHARACTERS = 24
"""More characters than any int64 has. A longer number is cut to this length; the cut number is still too large for an
int64."""
MAX_ENTRIES = 50_000
"""The largest number of entries in a list or map: ten times the nodes of the largest cluster that upstream supports."""

REASON_CHARACTERS = 256
"""The longest reason to reject a node. A pod's condition and event contain the reasons of all nodes."""

ChooseVictims = Callable[[str, Sequence[str]], Candidate]
"""Takes a node's name and victims' uids, and returns the candidate. Raises ValueError if a victim is not allowed."""


@dataclass(frozen=True, slots=True)
class ExtenderFilterResult:
    """The answer to a filter call: the kept nodes, and the rejected nodes with reasons."""

    kept: Sequence[str] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    unresolvable: Mapping[str, str] = field(default_factory=dict)
    error: str = ""


def decode_filter_result(body: bytes, requested: Mapping[str, Node], *, names_only: bool) -> ExtenderFilterResult:
    """Decode the answer to a filter call. If the answer has no list of nodes, no node is kept, as upstream."""
    fields = _decode_fields(body)
    names = _decode_field(fields, "NodeNames", list[str] | None)
    nodes = _decode_field(fields, "Nodes", _NamedList | None)
    if names and not names_only and nodes is None:
        raise ValueError("answered with NodeNames instead of Nodes; set nodeCacheCapable: true to get names only")
    if not names_only or names is None:
        names = [node.metadata.name for node in (nodes and nodes.items) or ()]
    unknown = [name for name in names if name not in requested]
    if unknown:
        raise ValueError(f"keeps node {unknown[0]!r}, which was not in the request")
    kept = dict.fromkeys(names)
    unresolvable = _decode_reasons(fields, "FailedAndUnresolvableNodes", requested.keys() - kept.keys())
    return ExtenderFilterResult(
        tuple(kept),
        _decode_reasons(fields, "FailedNodes", requested.keys() - kept.keys() - unresolvable.keys()),
        unresolvable,
        _decode_field(fields, "Error", str | None) or "",
    )


def decode_host_priorities(body: bytes, factor: int) -> Mapping[str, int]:
    """Decode the answer to a prioritize call: whole numbers by node, each multiplied by `factor`.

    Raises ValueError for a score that could overflow a node's total; upstream's totals would wrap around.
    """
    scores: dict[str, int] = {}
    for entry in _decode(body, list[dict[str, Raw]] | None, "the answer") or ():
        fields = _lower_keys(entry)
        host = _decode_field(fields, "Host", str | None) or ""
        scores[host] = scores.get(host, 0) + _decode_whole_number(fields.get("score", b"0"), host)
    for host, score in scores.items():
        if score * factor not in ADDABLE:
            raise ValueError(f"the score {score} of node {host!r}, times {factor} for its weight, is too large")
    return {host: score * factor for host, score in scores.items()}


def decode_binding_result(body: bytes) -> str:
    """Return the error in the answer to a bind call; empty if there is none."""
    return _decode_field(_decode_fields(body), "Error", str | None) or ""


def decode_preemption_result(body: bytes, requested: Sequence[Candidate], choose: ChooseVictims) -> Sequence[Candidate]:
    """Decode the answer to a preempt call. NumPDBViolations is ignored, because `choose` counts the violations."""
    fields = _decode_fields(body)
    answered = _decode_field(fields, "NodeNameToMetaVictims", dict[str, dict[str, Raw] | None] | None) or {}
    unknown = sorted(answered.keys() - {candidate.node_name for candidate in requested})
    if unknown:
        raise ValueError(f"names node {unknown[0]!r}, which is not a candidate")
    return [choose(name, _decode_uids(_lower_keys(entry or {}))) for name, entry in answered.items()]


class _NamedMetadata(Struct):
    name: str


class _NamedObject(Struct):
    metadata: _NamedMetadata


class _NamedList(Struct):
    items: list[_NamedObject] | None = None


def _decode_uids(fields: Mapping[str, Raw]) -> list[str]:
    victims = _decode_field(fields, "Pods", list[dict[str, Raw]] | None) or ()
    return [_decode_field(_lower_keys(victim), "UID", str | None) or "" for victim in victims]


def _decode_fields(body: bytes) -> Mapping[str, Raw]:
    return _lower_keys(_decode(body, dict[str, Raw], "the answer"))


def _lower_keys(fields: Mapping[str, Raw]) -> Mapping[str, Raw]:
    return {name.lower(): value for name, value in fields.items()}


def _decode_field(fields: Mapping[str, Raw], name: str, kind: Any) -> Any:
    raw = fields.get(name.lower())
    return None if raw is None else _decode(raw, kind, name)


def _decode(raw: bytes | Raw, kind: Any, name: str) -> Any:
    try:
        decoded = msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:  # RecursionError: nested too deeply
        raise ValueError(f"{name} cannot be decoded: {error}") from error
    if isinstance(decoded, list | dict) and len(decoded) > MAX_ENTRIES:
        raise ValueError(f"{name} has {len(decoded)} entries, more than {MAX_ENTRIES}")
    return decoded


def _decode_reasons(fields: Mapping[str, Raw], name: str, about: set[str]) -> Mapping[str, str]:
    """Decode the reasons. Ignore nodes outside `about`, which an extender with its own cache may name."""
    reasons: Mapping[str, str] = _decode_field(fields, name, dict[str, str] | None) or {}
    return {node: one_line(reason, REASON_CHARACTERS) for node, reason in reasons.items() if node in about}


def _decode_whole_number(raw: bytes | Raw, host: str) -> int:
    """Decode an int64 as Go does. Like Go, refuse `5.0`."""
    text = bytes(raw).strip()
    if text == b"null":
        return 0
    try:
        number = int(text[:NUMBER_CHARACTERS])
    except ValueError:
        number = INT64.stop
    if number not in INT64:
        shown = text[:NUMBER_CHARACTERS].decode("utf-8", "replace")
        raise ValueError(f"the score {shown} of node {host!r} is not a whole number")
    return number
