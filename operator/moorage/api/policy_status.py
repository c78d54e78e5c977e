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
"""The limit of metav1.Condition for `type`. MESSAGE_LENGTH and REASON_LENGTH are its limits for other fields."""
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
    """Status of the condition: True, False or Unknown."""
    observed_generation: Count | None = None
    """Generation of the policy that the condition describes."""
    last_transition_time: Timestamp
    """Time of the last change of `status`."""
    reason: Annotated[str, Field(max_length=REASON_LENGTH, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")]
    """Reason for the status, as one word for programs."""
    message: Annotated[str, Field(max_length=MESSAGE_LENGTH)] = ""
    """Reason for the status, as text for users, with the next step."""


class PodCounts(ApiModel):
    """Counts of the policy's pods.

    The counts of binds begin when the active generation goes live. If this replica becomes leader later, they begin
    then.
    """

    model_config = ConfigDict(extra="ignore")

    pending: Count = 0
    """Pods that wait for a scheduling attempt, including pods in backoff and pods with scheduling gates."""
    unschedulable: Count = 0
    """Pods that fitted on no node in their last attempt."""
    not_allowed: Count = 0
    """Pods of namespaces that `spec.allowedNamespaces` does not select. They wait, and do not count as pending."""
    bound: Count = 0
    """Pods that were bound since the count began."""
    failed: Count = 0
    """Binds that failed since the count began."""


class ShadowCounts(ApiModel):
    """Counts of the decisions of a policy in mode Shadow, since the active generation went live on this replica."""

    model_config = ConfigDict(extra="ignore")

    same: Count = 0
    """Pods for which this policy chose the real node, or also found no node."""
    tie: Count = 0
    """Pods for which this policy chose another node with the same score as the real node."""
    other_node: Count = 0
    """Pods for which this policy prefers another node."""
    fits_nowhere: Count = 0
    """Pods that have a node, but fit on no node according to this policy."""
    fits: Count = 0
    """Pods that have no node, but fit on a node according to this policy."""
    failed: Count = 0
    """Pods for which a plugin failed."""
    skipped: Count = 0
    """Pods for which this policy did not decide, because shadows use at most a tenth of the scheduler's time."""
    zone_skew: Count = 0
    """Largest minus smallest number of compared pods in a zone, if this policy had placed them."""
    actual_zone_skew: Count = 0
    """Largest minus smallest number of compared pods in a zone, as they are really placed."""
    last_difference: Annotated[str, Field(max_length=REJECTION_LENGTH)] = ""
    """The difference between the decisions about the last pod with different decisions. The text does not name the pod,
    because users who may read policies may not be allowed to read pods."""


class SchedulingPolicyStatus(ApiModel):
    """The observed state of the policy. Only the operator writes it."""

    model_config = ConfigDict(extra="ignore")

    scheduler_name: Annotated[str, Field(max_length=63)] | None = None
    """The spec.schedulerName of the pods of this policy: `spec.schedulerName`, or the name of the policy."""
    observed_generation: Count | None = None
    """Generation of the policy that the operator last read."""
    active_generation: Count | None = None
    """Generation of the policy that schedules pods now. If the operator has not accepted `observedGeneration`, this is
    an older generation."""
    conditions: Annotated[
        tuple[Condition, ...], ListOf, Field(max_length=CONDITIONS, json_schema_extra=map_list("type"))
    ] = ()
    """Accepted: the spec is valid. Programmed: the observed generation schedules pods. Degraded: a part that the policy
    depends on fails. Warnings: parts of the spec have no effect, or match no node. Ready: Accepted and Programmed, and
    no required extender fails. Stalled: the policy cannot become Ready until its spec changes."""
    pods: PodCounts | None = None
    """Counts of the policy's pods."""
    shadow: ShadowCounts | None = None
    """Counts of the decisions in mode Shadow. In mode Active, this field is absent."""
    last_bound_time: Timestamp | None = None
    """Time of the last bind that `pods.bound` counts."""
    top_rejections: Annotated[
        tuple[Annotated[str, Field(max_length=REJECTION_LENGTH)], ...],
        ListOf,
        Field(max_length=REJECTIONS, json_schema_extra=list_type("atomic")),
    ] = ()
    """Most frequent reasons why the last unschedulable pod did not fit on nodes, each with the number of nodes. The
    texts are kube-scheduler's. If a field of the policy rejects the nodes, the field follows in brackets, as in
    `(filters.zones)`."""
