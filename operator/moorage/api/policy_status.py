"""`status` of a SchedulingPolicy. Only the operator writes it.

The models ignore unknown fields, so that an operator can read a status that a newer operator has written.
"""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from moorage.api.base import ApiModel, ListOf, list_type, map_list

CONDITIONS = 16
REJECTIONS = 16
MESSAGE_LENGTH = 32768
REASON_LENGTH = 1024
CONDITION_TYPE_LENGTH = 316
"""The limit for the type of a metav1.Condition. MESSAGE_LENGTH and REASON_LENGTH are its limits too."""
REJECTION_LENGTH = 1024

INT64 = {"format": "int64"}
Timestamp = Annotated[datetime, ListOf]
"""A time, read from RFC 3339 text or a datetime."""
Count = Annotated[int, Field(ge=0, json_schema_extra=INT64)]


class Condition(ApiModel):
    """One aspect of the policy's state (metav1.Condition)."""

    model_config = ConfigDict(extra="ignore")

    type: Annotated[
        str, Field(max_length=CONDITION_TYPE_LENGTH, pattern=r"^[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?$")
    ]
    """Type of the condition: Accepted, Programmed, Degraded, Warnings, Ready or Stalled."""
    status: Literal["True", "False", "Unknown"]
    """Whether the condition applies: True, False or Unknown."""
    observed_generation: Count | None = None
    """Generation of the policy that the condition describes."""
    last_transition_time: Timestamp
    """Time of the last change of `status`."""
    reason: Annotated[str, Field(max_length=REASON_LENGTH, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")]
    """Reason of the status, as one word for programs."""
    message: Annotated[str, Field(max_length=MESSAGE_LENGTH)] = ""
    """Reason of the status, as text for users, with the next step."""


class PodCounts(ApiModel):
    """Counts of the policy's pods.

    Binds are counted since the active generation went live, or since this replica became leader, whichever was later.
    """

    model_config = ConfigDict(extra="ignore")

    pending: Count = 0
    """Pods that wait for a scheduling attempt, including pods in backoff and pods with scheduling gates."""
    unschedulable: Count = 0
    """Pods that fitted no node in their last attempt."""
    not_allowed: Count = 0
    """Pods of namespaces that `spec.allowedNamespaces` does not select. They wait, and do not count as pending."""
    bound: Count = 0
    """Pods bound since the active generation went live, or since this replica became leader, whichever was later."""
    failed: Count = 0
    """Failed binds since the active generation went live, or since this replica became leader, whichever was later."""


class ShadowCounts(ApiModel):
    """Counts of the decisions of a policy in mode Shadow, since the active generation went live on this replica."""

    model_config = ConfigDict(extra="ignore")

    same: Count = 0
    """Pods for which this policy chose the real node, or also found no node."""
    tie: Count = 0
    """Pods for which this policy chose another node, although the real node has the same score."""
    other_node: Count = 0
    """Pods for which this policy prefers another node."""
    fits_nowhere: Count = 0
    """Pods that have a node, but fit on no node by this policy."""
    fits: Count = 0
    """Pods that have no node, but fit on a node by this policy."""
    failed: Count = 0
    """Pods for which a plugin failed."""
    skipped: Count = 0
    """Pods that were not compared, because shadows use at most a tenth of the time."""
    zone_skew: Count = 0
    """Largest minus smallest number of compared pods in a zone, by the decisions of this policy."""
    actual_zone_skew: Count = 0
    """Largest minus smallest number of compared pods in a zone, on the real nodes."""
    last_difference: Annotated[str, Field(max_length=REJECTION_LENGTH)] = ""
    """How the decisions about the last pod with another result differ. The pod is not named, because who can read
    policies may not be allowed to read pods."""


class SchedulingPolicyStatus(ApiModel):
    """The observed state of the policy. Only the operator writes it."""

    model_config = ConfigDict(extra="ignore")

    scheduler_name: Annotated[str, Field(max_length=63)] | None = None
    """The spec.schedulerName of the pods of this policy: `spec.schedulerName`, or the name of the policy."""
    observed_generation: Count | None = None
    """Generation of the policy that the operator last read."""
    active_generation: Count | None = None
    """Generation of the policy that schedules pods now. It is older than `observedGeneration` while the observed
    generation is not accepted."""
    conditions: Annotated[
        tuple[Condition, ...], ListOf, Field(max_length=CONDITIONS, json_schema_extra=map_list("type"))
    ] = ()
    """Accepted: the spec is valid. Programmed: the observed generation schedules pods. Degraded: a part that the policy
    depends on fails. Warnings: parts of the spec have no effect, or match no node. Ready: Accepted and Programmed, and
    no required extender fails. Stalled: the policy cannot become Ready until its spec changes."""
    pods: PodCounts | None = None
    """Counts of the policy's pods."""
    shadow: ShadowCounts | None = None
    """Counts of the decisions in mode Shadow. Absent in mode Active."""
    last_bound_time: Timestamp | None = None
    """Time of the last bind that `pods.bound` counts."""
    top_rejections: Annotated[
        tuple[Annotated[str, Field(max_length=REJECTION_LENGTH)], ...],
        ListOf,
        Field(max_length=REJECTIONS, json_schema_extra=list_type("atomic")),
    ] = ()
    """Most frequent reasons for which nodes did not fit the last unschedulable pod, in kube-scheduler's words, each
    with its number of nodes. If a field of the policy rejects the nodes, the field follows in brackets, as in
    `(filters.zones)`."""
