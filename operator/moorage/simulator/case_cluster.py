"""A case's cluster: its objects, posted to a scheduler as informers would post them."""

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
from moorage.simulator.cases import KINDS, Case

DEFAULT_SCHEDULER = "default-scheduler"
DEFAULT_NAMESPACE = "default"
CLUSTER_SCOPED = frozenset(
    {"Namespace", "Node", "StorageClass", "PersistentVolume", "CSINode", "CSIDriver", "VolumeAttachment"}
)
ALL_NODES = ProfileSettings(percentage_of_nodes_to_score=100)
"""Cases are decided over all nodes."""


def profiles_of(case: Case, registry: Registry) -> list[Profile]:
    """Build a case's profiles; ConfigurationError or UnknownPlugin where they are refused."""
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
            return _named_apart(KubeSchedulerConfiguration.model_validate(config).profiles or (KubeSchedulerProfile(),))
        return (KubeSchedulerProfile.model_validate(config),)
    except ValidationError as refusal:
        faults = [Fault(error["loc"], None, error["msg"]) for error in refusal.errors()]
        raise ConfigurationError(faults) from refusal


def _named_apart(profiles: tuple[KubeSchedulerProfile, ...]) -> tuple[KubeSchedulerProfile, ...]:
    """Refuse profiles of one name, and one without a name beside others."""
    names = [profile.scheduler_name for profile in profiles]
    if len(names) > 1 and (None in names or len(names) != len(set(names))):
        raise ConfigurationError([Fault(("profiles",), None, "each of several profiles needs a name of its own")])
    return profiles


def post_objects(case: Case, scheduler: Scheduler, decoder: Decoder) -> None:
    """Tell the scheduler of all objects of a case; nodes in the order of their names, as they are listed."""
    for field, kind in KINDS.items():
        bodies = case.given.get(field) or []
        if kind == "Node":
            bodies = sorted(bodies, key=lambda body: str(body["metadata"]["name"]))
        for body in bodies:
            scheduler.apply(added(kind, decoder.decode_object(kind, _settled(kind, body))), now=0.0)


def incoming_pod(case: Case, decoder: Decoder) -> Pod:
    """Return the pod that the case is about."""
    pod: Pod = decoder.decode_object("Pod", _settled("Pod", case.given["pod"]))
    return pod


def _settled(kind: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Fill in the namespace; the decoder fills in the rest."""
    if kind in CLUSTER_SCOPED:
        return body
    metadata = body.get("metadata") or {}
    return {**body, "metadata": {**metadata, "namespace": metadata.get("namespace") or DEFAULT_NAMESPACE}}
