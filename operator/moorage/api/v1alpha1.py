"""The SchedulingPolicy object, version v1alpha1. Its parts are in `policy_spec` and `policy_status`."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, ValidationError

from moorage.api.base import LABEL_VALUE_LENGTH, ApiModel, ListOf, Rule
from moorage.api.policy_size import size_faults
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
"""The schedulerName of pods that do not set one. Usually kube-scheduler schedules these pods."""


class ObjectMeta(ApiModel):
    """The metadata that moorage reads."""

    model_config = ConfigDict(extra="ignore")

    name: Annotated[str, Field(min_length=1, max_length=LABEL_VALUE_LENGTH)]
    """Name of the object, at most 63 characters, so that it fits into a label."""
    uid: str = ""
    """Unique identifier. If an object is deleted and created again, it has a new uid."""
    generation: int = 0
    """Number of changes of the spec."""
    resource_version: str = ""
    """Opaque version of the object. Every write changes it."""
    creation_timestamp: Annotated[datetime, ListOf] | None = None
    """Time of creation. If several policies have the same schedulerName, the oldest policy keeps it."""
    deletion_timestamp: Annotated[datetime, ListOf] | None = None
    """Time of the deletion request, if there is one."""


_SCHEDULER_NAME = "(has({0}.spec.schedulerName) ? {0}.spec.schedulerName : {0}.metadata.name)"


class SchedulingPolicy(ApiModel):
    """A policy for all pods with one schedulerName: which nodes they may run on, and which nodes are best."""

    rules = (
        Rule(
            cel=f"self.spec.allowDefaultScheduler || {_SCHEDULER_NAME.format('self')} != '{DEFAULT_SCHEDULER_NAME}'",
            holds=lambda policy: policy.spec.allow_default_scheduler or policy.scheduler_name != DEFAULT_SCHEDULER_NAME,
            message=(
                "default-scheduler is kube-scheduler's name; set allowDefaultScheduler: true to take it over, "
                "and run the operator with --allow-default-scheduler"
            ),
            field="spec.schedulerName",
            reason="FieldValueForbidden",
        ),
        Rule(
            cel="!has(self.spec.canary) || self.spec.canary.of != self.metadata.name",
            holds=lambda policy: policy.spec.canary is None or policy.spec.canary.of != policy.metadata.name,
            message="a policy cannot be a canary of itself; name another policy",
            field="spec.canary.of",
        ),
        Rule(
            cel=f"{_SCHEDULER_NAME.format('self')} == {_SCHEDULER_NAME.format('oldSelf')}",
            # Only the API server knows the previous object.
            holds=lambda _: True,
            message="schedulerName is immutable; create another policy instead",
            field="spec.schedulerName",
        ),
    )

    api_version: Literal["scheduling.moorage.dev/v1alpha1"] = "scheduling.moorage.dev/v1alpha1"
    """The version of this object's schema."""
    kind: Literal["SchedulingPolicy"] = "SchedulingPolicy"
    """The type of this object."""
    metadata: ObjectMeta
    """Standard metadata of Kubernetes objects."""
    spec: SchedulingPolicySpec = SchedulingPolicySpec()
    """Scheduling of the pods of this policy. {} schedules like kube-scheduler's default profile, but excludes
    serverless nodes."""
    status: SchedulingPolicyStatus | None = None
    """The observed state of the policy. Only the operator writes it."""

    @property
    def scheduler_name(self) -> str:
        """The schedulerName of the policy's pods: `spec.schedulerName`, or the name of the policy."""
        return self.spec.scheduler_name or self.metadata.name


def parse_policy(manifest: Mapping[str, Any]) -> SchedulingPolicy:
    """Return the policy of an object. Raise InvalidPolicy with the paths of all faults.

    Ignore the status, because a status from another version of moorage must not make a policy invalid.
    """
    if faults := size_faults(manifest):
        raise InvalidPolicy(faults)
    try:
        fields = {key: value for key, value in manifest.items() if key != "status"}
        return SchedulingPolicy.model_validate(fields, by_alias=True, by_name=False)
    except ValidationError as error:
        raise InvalidPolicy(faults_of(error)) from error
