"""Builds the inputs of a parity case: its profiles, its pod, and its cluster in a scheduler."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from moorage.configuration.scheduler_configuration import KubeSchedulerConfiguration, KubeSchedulerProfile
from moorage.engine.scheduler import Scheduler
from moorage.errors import ConfigurationError, Fault
from moorage.framework.cluster_events import added
from moorage.framework.profile import Profile, ProfileSettings, ProfileSpec
from moorage.framework.registry import Registry
from moorage.model.decode import Decoder
from moorage.model.pods.pod import Pod
from moorage.simulator.parity.cases import KINDS, Case

DEFAULT_SCHEDULER = "default-scheduler"
DEFAULT_NAMESPACE = "default"
CLUSTER_SCOPED = frozenset(
    {"Namespace", "Node", "StorageClass", "PersistentVolume", "CSINode", "CSIDriver", "VolumeAttachment", "DeviceClass"}
)
ALL_NODES = ProfileSettings(percentage_of_nodes_to_score=100)
"""The settings of each case: every node is filtered and scored."""


def profiles_of(case: Case, registry: Registry) -> list[Profile]:
    """Return a case's profiles; raise ConfigurationError or UnknownPlugin if they are invalid."""
    return [
        registry.build_profile(
            ProfileSpec(
                scheduler_name=profile.scheduler_name or DEFAULT_SCHEDULER,
                plugins=profile.plugins,
                plugin_config=profile.plugin_config,
                settings=ALL_NODES,
            )
        )
        for profile in _read_profiles(case.given.get("config"))
    ]


def _read_profiles(config: Mapping[str, Any] | None) -> tuple[KubeSchedulerProfile, ...]:
    if not config:
        return (KubeSchedulerProfile(),)
    try:
        if "profiles" in config:
            return _require_unique_names(
                KubeSchedulerConfiguration.model_validate(config).profiles or (KubeSchedulerProfile(),)
            )
        return (KubeSchedulerProfile.model_validate(config),)
    except ValidationError as refusal:
        faults = [Fault(error["loc"], None, error["msg"]) for error in refusal.errors()]
        raise ConfigurationError(faults) from refusal


def _require_unique_names(profiles: tuple[KubeSchedulerProfile, ...]) -> tuple[KubeSchedulerProfile, ...]:
    """Return the profiles. Raise ConfigurationError if several profiles have no name or the same name."""
    names = [profile.scheduler_name for profile in profiles]
    if len(names) > 1 and (None in names or len(names) != len(set(names))):
        raise ConfigurationError(
            [Fault(("profiles",), None, "if there are several profiles, each needs a unique schedulerName")]
        )
    return profiles


def post_objects(case: Case, scheduler: Scheduler, decoder: Decoder) -> None:
    """Add all objects of a case to the scheduler, as informers do.

    Nodes are sorted by name, as in an API server's list.
    """
    for field, kind in KINDS.items():
        bodies = case.given.get(field) or []
        if kind == "Node":
            bodies = sorted(bodies, key=lambda body: str(body["metadata"]["name"]))
        for body in bodies:
            scheduler.apply(added(kind, decoder.decode_object(kind, _with_namespace(kind, body))), now=0.0)


def incoming_pod(case: Case, decoder: Decoder) -> Pod:
    """Return the pod that the case schedules."""
    pod: Pod = decoder.decode_object("Pod", _with_namespace("Pod", case.given["pod"]))
    return pod


def _with_namespace(kind: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the object with a namespace; the decoder sets the other defaults."""
    if kind in CLUSTER_SCOPED:
        return body
    metadata = body.get("metadata") or {}
    return {**body, "metadata": {**metadata, "namespace": metadata.get("namespace") or DEFAULT_NAMESPACE}}
