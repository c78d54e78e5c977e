"""What the operator says about a policy: `status`, small and slow to change.

Fields that this version does not know are skipped, so that an older operator can read what a newer one wrote.
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
"""The last three are the limits of metav1.Condition."""
REJECTION_LENGTH = 1024
CUT = " ..."
"""The end of a text that was shortened."""

INT64 = {"format": "int64"}
Timestamp = Annotated[datetime, ListOf]
"""RFC 3339, as text or already parsed."""
Count = Annotated[int, Field(ge=0, json_schema_extra=INT64)]


def shortened(text: str, length: int) -> str:
    """Return a text with at most `length` characters: the unit of the API server's limits."""
    return text if len(text) <= length else text[: length - len(CUT)] + CUT


class Condition(ApiModel):
    """One aspect of the policy's state, as metav1.Condition."""

    model_config = ConfigDict(extra="ignore")

    type: Annotated[
        str, Field(max_length=CONDITION_TYPE_LENGTH, pattern=r"^[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?$")
    ]
    """Accepted, Programmed, Ready, Degraded or Stalled."""
    status: Literal["True", "False", "Unknown"]
    """Whether it is so."""
    observed_generation: Count | None = None
    """The generation that this was said of."""
    last_transition_time: Timestamp
    """When the status last changed."""
    reason: Annotated[str, Field(max_length=REASON_LENGTH, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")]
    """Why, as one word for programs."""
    message: Annotated[str, Field(max_length=MESSAGE_LENGTH)] = ""
    """Why, as a sentence for people, with the next step."""


class PodCounts(ApiModel):
    """How many pods of the policy wait now, and how many were bound.

    Binds are counted since this generation went live, or since this leader took over if that was later.
    """

    model_config = ConfigDict(extra="ignore")

    pending: Count = 0
    """Pods that wait for an attempt now, those in backoff and held by scheduling gates among them."""
    unschedulable: Count = 0
    """Pods that no node fits now."""
    bound: Count = 0
    """Pods bound since this generation went live, or since this leader took over if that was later."""
    failed: Count = 0
    """Binds that failed since this generation went live, or since this leader took over if that was later."""


class SchedulingPolicyStatus(ApiModel):
    """What the operator made of the policy."""

    model_config = ConfigDict(extra="ignore")

    scheduler_name: Annotated[str, Field(max_length=63)] | None = None
    """The name in force: what pods write as their schedulerName."""
    observed_generation: Count | None = None
    """The generation that was last read."""
    active_generation: Count | None = None
    """The generation that decisions are made with; it lags while a newer one is not accepted."""
    conditions: Annotated[
        tuple[Condition, ...], ListOf, Field(max_length=CONDITIONS, json_schema_extra=map_list("type"))
    ] = ()
    """Accepted, Programmed, Ready (both of them), Degraded, and Stalled (nothing changes until the policy does)."""
    pods: PodCounts | None = None
    """How many pods of the policy wait or do not fit now, and how many were bound, or failed to bind, since this
    generation went live, or since this leader took over if that was later."""
    last_bound_time: Timestamp | None = None
    """When a pod of the policy was last bound, as far back as `pods.bound` counts."""
    top_rejections: Annotated[
        tuple[Annotated[str, Field(max_length=REJECTION_LENGTH)], ...],
        ListOf,
        Field(max_length=REJECTIONS, json_schema_extra=list_type("atomic")),
    ] = ()
    """Why nodes were refused, most frequent first, in kube-scheduler's words."""
