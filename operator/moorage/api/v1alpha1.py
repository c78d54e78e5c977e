"""The SchedulingPolicy object, version v1alpha1. Its parts are in `policy_spec` and `policy_status`."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, ValidationError

from moorage.api.base import LABEL_VALUE_LENGTH, ApiModel, ListOf, Rule
from moorage.api.policy_spec import SchedulingPolicySpec
from moorage.api.policy_status import SchedulingPolicyStatus
from moorage.api.validation_faults import faults_of
from moorage.errors import InvalidPolicy

GROUP = "scheduling.moorage.dev"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
KIND = "SchedulingPolicy"
PLURAL = "schedulingpolicies"
DEFAULT_SCHEDULER_NAME = "default-scheduler"
"""What pods get that name no scheduler; usually kube-scheduler's own."""


class ObjectMeta(ApiModel):
    """What moorage reads of an object's metadata."""

    model_config = ConfigDict(extra="ignore")

    name: Annotated[str, Field(min_length=1, max_length=LABEL_VALUE_LENGTH)]
    """At most 63 characters, so that it fits into a label."""
    uid: str = ""
    """The identity of this very object."""
    generation: int = 0
    """Counts the edits of the spec."""
    resource_version: str = ""
    """Counts the writes of the object."""
    creation_timestamp: Annotated[datetime, ListOf] | None = None
    """Of two policies with one schedulerName, the older keeps it."""
    deletion_timestamp: Annotated[datetime, ListOf] | None = None
    """Set once the object is being deleted."""


_NAME_IN_FORCE = "(has({0}.spec.schedulerName) ? {0}.spec.schedulerName : {0}.metadata.name)"


class SchedulingPolicy(ApiModel):
    """A policy for all pods that name it as their schedulerName: which nodes they may run on, and which they prefer."""

    rules = (
        Rule(
            cel=f"self.spec.allowDefaultScheduler || {_NAME_IN_FORCE.format('self')} != '{DEFAULT_SCHEDULER_NAME}'",
            holds=lambda policy: policy.spec.allow_default_scheduler or policy.scheduler_name != DEFAULT_SCHEDULER_NAME,
            message="default-scheduler is kube-scheduler's name; allowDefaultScheduler: true takes it over",
            field="spec.schedulerName",
            reason="FieldValueForbidden",
        ),
        Rule(
            cel=f"{_NAME_IN_FORCE.format('self')} == {_NAME_IN_FORCE.format('oldSelf')}",
            # What stood before is only known to the API server.
            holds=lambda _: True,
            message="schedulerName is immutable; create another policy instead",
            field="spec.schedulerName",
        ),
    )

    api_version: Literal["scheduling.moorage.dev/v1alpha1"] = "scheduling.moorage.dev/v1alpha1"
    """scheduling.moorage.dev/v1alpha1."""
    kind: Literal["SchedulingPolicy"] = "SchedulingPolicy"
    """SchedulingPolicy."""
    metadata: ObjectMeta
    """Standard object metadata."""
    spec: SchedulingPolicySpec
    """How pods are scheduled; {} is kube-scheduler's default profile, less serverless nodes."""
    status: SchedulingPolicyStatus | None = None
    """What the operator made of the policy; written by the operator only."""

    @property
    def scheduler_name(self) -> str:
        """The name in force: `spec.schedulerName`, else the object's own."""
        return self.spec.scheduler_name or self.metadata.name


def parse_policy(manifest: Mapping[str, Any]) -> SchedulingPolicy:
    """Read a policy as the API server or a file has it; InvalidPolicy names every fault with its path.

    The status is left out: what an operator once wrote there must not keep a policy from being read.
    """
    try:
        fields = {key: value for key, value in manifest.items() if key != "status"}
        return SchedulingPolicy.model_validate(fields, by_alias=True, by_name=False)
    except ValidationError as error:
        raise InvalidPolicy(faults_of(error)) from error
