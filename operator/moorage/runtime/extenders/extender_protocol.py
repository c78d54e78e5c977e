"""kube-scheduler's extender protocol as bytes: what is sent, and what is made of the answers.

Upstream's structs have no JSON tags, so the keys are Go's field names, with whole Kubernetes objects below them.
Answers are read as Go reads them: keys in any case, null as nothing, unknown keys left alone. What cannot be read, or
speaks of what was not asked, is a ValueError whose text says so.
Upstream: staging/src/k8s.io/kube-scheduler/extender/v1/types.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, Struct

from moorage.engine.candidate import Candidate

if TYPE_CHECKING:
    from moorage.model.node import Node
    from moorage.model.pods.pod import Pod

INT64 = range(-(2**63), 2**63)
ADDABLE = range(-(2**58), 2**58 + 1)
"""What one extender may add to a node: totals of plugins and of several extenders stay within an int64."""


@dataclass(frozen=True, slots=True)
class FilterAnswer:
    """What an extender said about nodes."""

    kept: Sequence[str] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    unresolvable: Mapping[str, str] = field(default_factory=dict)
    error: str = ""


class _NodeList(Struct):
    items: Sequence[Raw]
    metadata: dict[str, str] = {}


class _Arguments(Struct, rename="pascal"):
    pod: Raw
    nodes: _NodeList | None
    node_names: Sequence[str] | None


class _Binding(Struct):
    PodName: str
    PodNamespace: str
    PodUID: str
    Node: str


class _Victims(Struct):
    Pods: Sequence[Raw]
    NumPDBViolations: int


class _MetaPod(Struct):
    UID: str


class _MetaVictims(Struct):
    Pods: Sequence[_MetaPod]
    NumPDBViolations: int


class _Preemption(Struct, rename="pascal"):
    pod: Raw
    node_name_to_victims: Mapping[str, _Victims] | None
    node_name_to_meta_victims: Mapping[str, _MetaVictims] | None


class _NamedMetadata(Struct):
    name: str


class _NamedObject(Struct):
    metadata: _NamedMetadata


class _NamedList(Struct):
    items: list[_NamedObject] | None = None


def nodes_arguments(pod: Pod, nodes: Mapping[str, Node], *, names_only: bool) -> bytes:
    """Return the body of a filter or a prioritize call."""
    if names_only:
        arguments = _Arguments(_whole(pod), None, list(nodes))
    else:
        arguments = _Arguments(_whole(pod), _NodeList([_whole(node) for node in nodes.values()]), None)
    return msgspec.json.encode(arguments)


def binding_arguments(pod: Pod, node_name: str) -> bytes:
    """Return the body of a bind call."""
    return msgspec.json.encode(_Binding(pod.name, pod.namespace, pod.uid, node_name))


def preemption_arguments(pod: Pod, candidates: Sequence[Candidate], objects: Mapping[str, bytes] | None) -> bytes:
    """Return the body of a preempt call: with the victims' `objects` by uid, or with their uids alone."""
    whole = meta = None
    if objects is None:
        meta = {
            candidate.node_name: _MetaVictims([_MetaPod(pod.uid) for pod in candidate.victims], candidate.violations)
            for candidate in candidates
        }
    else:
        whole = {
            candidate.node_name: _Victims([Raw(objects[pod.uid]) for pod in candidate.victims], candidate.violations)
            for candidate in candidates
        }
    return msgspec.json.encode(_Preemption(_whole(pod), whole, meta))


def read_filter(body: bytes, asked: Mapping[str, Node], *, names_only: bool) -> FilterAnswer:
    """Read the answer to a filter call; an answer with neither list keeps no node, as upstream has it."""
    fields = _fields(body)
    names = _read(fields, "NodeNames", list[str] | None)
    nodes = _read(fields, "Nodes", _NamedList | None)
    if names and not names_only and nodes is None:
        raise ValueError("NodeNames came where Nodes was asked for; nodeCacheCapable: true asks for names")
    if not names_only or names is None:
        names = [node.metadata.name for node in (nodes and nodes.items) or ()]
    strangers = [name for name in names if name not in asked]
    if strangers:
        raise ValueError(f"it keeps node {strangers[0]!r}, which it was not asked about")
    kept = dict.fromkeys(names)
    unresolvable = _rejections(fields, "FailedAndUnresolvableNodes", asked.keys() - kept.keys())
    return FilterAnswer(
        tuple(kept),
        _rejections(fields, "FailedNodes", asked.keys() - kept.keys() - unresolvable.keys()),
        unresolvable,
        _read(fields, "Error", str | None) or "",
    )


def read_scores(body: bytes, factor: int) -> Mapping[str, int]:
    """Read the answer to a prioritize call: whole numbers by node, each times `factor`.

    Where that is too large to be added up the answer is refused; upstream's totals would wrap around.
    """
    scores: dict[str, int] = {}
    for entry in _decode(body, list[dict[str, Raw]] | None, "the answer") or ():
        fields = _lowered(entry)
        host = _read(fields, "Host", str | None) or ""
        scores[host] = scores.get(host, 0) + _whole_number(fields.get("score", b"0"), host)
    for host, score in scores.items():
        if score * factor not in ADDABLE:
            raise ValueError(f"the score {score} of node {host!r}, times {factor} for its weight, is too large")
    return {host: score * factor for host, score in scores.items()}


def read_binding(body: bytes) -> str:
    """Read the answer to a bind call: an error, empty for none."""
    return _read(_fields(body), "Error", str | None) or ""


def read_preemption(
    body: bytes, asked: Sequence[Candidate], pods_on: Callable[[str], Iterable[Pod]]
) -> Sequence[Candidate]:
    """Read the answer to a preempt call. Victims may be others than proposed, but are on their node."""
    answered = _read(_fields(body), "NodeNameToMetaVictims", dict[str, dict[str, Raw] | None] | None) or {}
    strangers = sorted(answered.keys() - {candidate.node_name for candidate in asked})
    if strangers:
        raise ValueError(f"it names node {strangers[0]!r}, which was no candidate")
    return [_read_candidate(name, _lowered(entry or {}), pods_on(name)) for name, entry in answered.items()]


def _read_candidate(node_name: str, fields: Mapping[str, Raw], pods: Iterable[Pod]) -> Candidate:
    uids = [_read(_lowered(pod), "UID", str) for pod in _read(fields, "Pods", list[dict[str, Raw]] | None) or ()]
    placed = {pod.uid: pod for pod in pods}
    strangers = [uid for uid in uids if uid not in placed]
    if strangers:
        raise ValueError(f"it names a victim with the uid {strangers[0]!r}, which is no pod on node {node_name}")
    violations = _read(fields, "NumPDBViolations", int | None) or 0
    return Candidate(node_name, tuple(placed[uid] for uid in uids), violations)


def _whole(thing: Pod | Node) -> Raw:
    if not thing.raw:
        raise ValueError(f"{type(thing).__name__.lower()} {thing.name} is not known in full")
    return Raw(thing.raw)


def _fields(body: bytes) -> Mapping[str, Raw]:
    return _lowered(_decode(body, dict[str, Raw], "the answer"))


def _lowered(fields: Mapping[str, Raw]) -> Mapping[str, Raw]:
    return {name.lower(): value for name, value in fields.items()}


def _read(fields: Mapping[str, Raw], name: str, kind: Any) -> Any:
    raw = fields.get(name.lower())
    return None if raw is None else _decode(raw, kind, name)


def _decode(raw: bytes | Raw, kind: Any, name: str) -> Any:
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:  # the latter: nested without end
        raise ValueError(f"{name} cannot be read: {error}") from error


def _rejections(fields: Mapping[str, Raw], name: str, about: set[str]) -> Mapping[str, str]:
    """Read reasons by node; an extender may name more nodes than it was asked about, from a cache of its own."""
    reasons: Mapping[str, str] = _read(fields, name, dict[str, str] | None) or {}
    return {node: reason for node, reason in reasons.items() if node in about}


def _whole_number(raw: bytes | Raw, host: str) -> int:
    """Read an int64 as Go does, which takes no 5.0 for one."""
    text = bytes(raw).strip()
    if text == b"null":
        return 0
    try:
        number = int(text)
    except ValueError:
        number = INT64.stop
    if number not in INT64:
        raise ValueError(f"the score {text.decode('utf-8', 'replace')} of node {host!r} is no whole number")
    return number
