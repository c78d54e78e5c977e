"""The warnings of each policy. They are computed again when the spec or a fact about nodes that they depend on changes.

When a node is added or removed, only a few sets are compared for each policy, because usually no warning changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from moorage.api.policy_spec import SchedulingPolicySpec
from moorage.compilation.node_facts import NodeFacts, ReadNodeFacts
from moorage.compilation.node_warnings import node_warnings
from moorage.compilation.policy_warning import PolicyWarning
from moorage.compilation.presets import expand_preset
from moorage.compilation.spec_warnings import spec_warnings
from moorage.controller.policy_state import PolicyState
from moorage.framework.policy_plugin import PolicyPlugin


@dataclass(slots=True)
class _Kept:
    """The warnings about one spec, and the facts that they depend on."""

    spec: SchedulingPolicySpec
    expanded: SchedulingPolicySpec
    """The spec with the fields of its preset."""
    about_spec: tuple[PolicyWarning, ...]
    warnings: tuple[PolicyWarning, ...]
    read: ReadNodeFacts | None = None
    generation: int = -1
    """The generation of the nodes when `read` was last found current."""


class PolicyWarnings:
    """The warnings of all policies."""

    def __init__(
        self, plugins: Sequence[type[PolicyPlugin]], nodes: NodeFacts, are_nodes_listed: Callable[[], bool]
    ) -> None:
        """`are_nodes_listed` returns whether nodes are listed. Warnings about nodes are computed only after that."""
        self._plugins = plugins
        self._nodes = nodes
        self._are_nodes_listed = are_nodes_listed
        self._kept: dict[str, _Kept] = {}

    def of(self, state: PolicyState) -> Sequence[PolicyWarning]:
        """Return the warnings of a policy; empty if its spec is refused."""
        spec = state.spec
        if spec is None:
            self.forget(state.name)
            return ()
        kept = self._kept.get(state.name)
        if kept is None or kept.spec is not spec:
            expanded = expand_preset(spec)
            about_spec = tuple(spec_warnings(expanded, self._plugins))
            kept = self._kept[state.name] = _Kept(spec, expanded, about_spec, about_spec)
        if kept.generation != self._nodes.generation and self._are_nodes_listed() and self._nodes.are_known:
            kept.generation = self._nodes.generation
            if kept.read is None or not kept.read.are_current():
                kept.read = ReadNodeFacts(self._nodes)
                kept.warnings = (*kept.about_spec, *node_warnings(kept.expanded, kept.read))
        return kept.warnings

    def forget(self, name: str) -> None:
        """Drop a deleted policy."""
        self._kept.pop(name, None)
