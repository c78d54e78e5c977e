"""The models of a policy test file, such as `spot-first.test.yaml`. docs/try-changes.md explains the fields."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from moorage.api.base import ApiModel, ListOf, Rule
from moorage.sandbox.simulation.node_groups import NodeGroup, Quantity

MAX_PODS = 5000
"""The maximum number of pods in a group."""


def _as_text(value: Any) -> Any:
    """Return a number as text, because users write `cpu: 2`."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


Amount = Annotated[Quantity, BeforeValidator(_as_text)]
Pattern = Annotated[str, Field(min_length=1)]
"""A shell pattern, such as `web-*`."""
Counts = dict[str, Annotated[int, Field(ge=0)]]


class ClusterSection(ApiModel):
    """The cluster of a test. By default, it has the 40 nodes of `moorage sandbox`."""

    rules = (
        Rule(
            holds=lambda cluster: sum(map(bool, (cluster.node_groups, cluster.node_groups_file, cluster.dump))) <= 1,
            message="nodeGroups, nodeGroupsFile and dump exclude each other",
        ),
    )

    node_groups: Annotated[tuple[NodeGroup, ...], ListOf] = ()
    """Groups of equal nodes, like the groups in `moorage sandbox --nodes`."""
    node_groups_file: str | None = None
    """A file of node groups."""
    dump: str | None = None
    """A file of `moorage dump`. Pods with a node are in place. Waiting pods are left out."""
    objects: Annotated[tuple[str, ...], ListOf] = ()
    """Files of further objects: namespaces, budgets, claims, storage classes, priority classes."""


class PodGroup(ApiModel):
    """Equal pods, or the pods of a file."""

    rules = (
        Rule(
            holds=lambda group: (group.name is None) != (group.file is None),
            message="a group of pods has either a name or a file",
        ),
    )

    name: str | None = None
    """The name of the pod. If `count` is above 1, the names are NAME-0, NAME-1, ..."""
    file: str | None = None
    """A file with Pod objects. Other objects in the file become part of the cluster."""
    count: Annotated[int, Field(ge=1, le=MAX_PODS)] = 1
    """The number of pods."""
    namespace: str = "default"
    """The pods' namespace."""
    scheduler_name: str | None = None
    """The pods' schedulerName. Default: the schedulerName of the first policy of the test file."""
    cpu: Amount | None = None
    """The CPU that each pod requests."""
    memory: Amount | None = None
    """The memory that each pod requests."""
    resources: dict[str, Amount] = Field(default_factory=dict)
    """Further resources that each pod requests, such as `nvidia.com/gpu: 1`."""
    labels: dict[str, str] = Field(default_factory=dict)
    """The pods' labels."""
    priority: int = 0
    """The pods' priority."""
    node: str | None = None
    """The node of these pods. Only for pods in place."""
    spec: dict[str, Any] = Field(default_factory=dict)
    """Further fields of the pods' spec, such as tolerations and affinity."""


class PodExpectation(ApiModel):
    """The expected result for the pods whose names match `pods`, after all pods were tried.

    Fields with the text "Each pod is" do not check pods that preemption evicted.
    """

    pods: Pattern = "*"
    """A shell pattern for names of pods, such as `web-*`, or for `namespace/name`. Default: all pods that arrive."""
    scheduled: Annotated[int, Field(ge=0)] | None = None
    """The number of these pods that have a node."""
    pending: Annotated[int, Field(ge=0)] | None = None
    """The number of these pods that have no node."""
    node: Pattern | None = None
    """Each pod is on a node whose name matches."""
    zone: Pattern | None = None
    """Each pod is in a zone that matches."""
    instance_type: Pattern | None = None
    """Each pod is on an instance type that matches."""
    lifecycle: Pattern | None = None
    """Each pod is on a node of this lifecycle: spot, on-demand, reserved or unknown."""
    node_labels: dict[str, Pattern] = Field(default_factory=dict)
    """Each pod is on a node with these labels. The values are patterns. `!*` means that the node lacks the label."""
    nodes: Counts = Field(default_factory=dict)
    """The number of pods by node. Nodes that are not listed may have any number."""
    zones: Counts = Field(default_factory=dict)
    """The number of pods by zone."""
    instance_types: Counts = Field(default_factory=dict)
    """The number of pods by instance type."""
    lifecycles: Counts = Field(default_factory=dict)
    """The number of pods by lifecycle."""
    different_nodes: Annotated[int, Field(ge=0)] | None = None
    """The number of nodes that these pods use."""
    max_skew: Counts = Field(default_factory=dict)
    """The greatest allowed difference between the numbers of pods of two values. The keys are zone, node, instanceType,
    lifecycle or a label key. All values that nodes of the cluster have are compared."""
    unschedulable: Pattern | None = None
    """Each pod has no node, and its message contains this text."""
    rejected_by: Annotated[tuple[str, ...], ListOf] = ()
    """Each pod has no node, and at least these plugins rejected the pod."""
    nominated: Pattern | None = None
    """Each pod was nominated to a node whose name matches."""
    evicted: Annotated[int, Field(ge=0)] | None = None
    """The number of these pods that preemption evicted. Pods in place count too."""
    order: Annotated[tuple[str, ...], ListOf] = ()
    """The names of pods in the order of their first attempts."""


class PolicyTestCase(ApiModel):
    """One test: pods that arrive in a cluster, and expectations about them."""

    name: Annotated[str, Field(min_length=1)]
    """A sentence about the expected behaviour of the policy."""
    cluster: ClusterSection | None = None
    """The cluster of this test. Default: the cluster of the file."""
    seed: Annotated[int, Field(ge=0)] = 0
    """The seed that decides between equally good nodes."""
    placed: Annotated[tuple[PodGroup, ...], ListOf] = ()
    """Pods that are in place before the test. Each group needs a node."""
    pods: Annotated[tuple[PodGroup, ...], ListOf]
    """Pods that arrive at the same time."""
    later: Annotated[tuple[PodGroup, ...], ListOf] = ()
    """Pods that arrive after `pods` were tried."""
    expect: Annotated[tuple[PodExpectation, ...], ListOf] = ()
    """The expectations."""
    snapshot: bool = False
    """Whether each pod must be on the node in the snapshot file. `moorage test --update` writes this file."""

    rules = (
        Rule(
            holds=lambda case: bool(case.expect) or case.snapshot,
            message="a test needs expectations, or snapshot: true",
            field="expect",
        ),
        Rule(
            holds=lambda case: all(group.file or group.node for group in case.placed),
            message="each group of pods in place needs a node",
            field="placed",
        ),
    )


class PolicyTestFile(ApiModel):
    """A file of tests. Its name ends with `.test.yaml`."""

    policies: Annotated[tuple[str, ...], ListOf] = ()
    """Files of SchedulingPolicies or KubeSchedulerConfigurations. Paths start at the directory of the test file."""
    cluster: ClusterSection = ClusterSection()
    """The cluster of all tests."""
    tests: Annotated[tuple[PolicyTestCase, ...], ListOf]
    """The tests."""
