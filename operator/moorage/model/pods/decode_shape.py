"""From a pod on the wire to its shape.

`wire_key` collects, unparsed, every part of a pod that its shape depends on: pods of one template have equal keys, so
parsing is done once a template. What differs between a template's pods (such as the `kube-api-access-xxxxx` volume that
the API server adds) is not part of the key.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Raw, json

from moorage.model.pods.api_pods import (
    ApiContainer,
    ApiMetadata,
    ApiNamed,
    ApiPod,
    ApiPodSpec,
    ApiPort,
    ApiRestartRule,
    ApiVolume,
)
from moorage.model.pods.decode_amounts import pod_amounts, resource_names
from moorage.model.pods.decode_constraints import affinity, spread_constraints, tolerations
from moorage.model.pods.pod import HostPort, OwnerReference, PodShape
from moorage.model.pods.requests import DEFAULT_REQUESTS, non_zero_requests, pod_requests, to_resources
from moorage.model.raw import at, read
from moorage.model.volumes.storage_objects import PodVolume

RESTART_ALL_CONTAINERS = "RestartAllContainersOnContainerExits"
USER_NAMESPACES_HOST_NETWORK = "UserNamespacesHostNetworkSupport"


def wire_key(pod: ApiPod) -> bytes:
    """Return what the shape depends on, as it came off the wire."""
    metadata, spec = pod.metadata, pod.spec
    parts = (
        metadata.namespace,
        metadata.labels,
        metadata.owner_references,
        spec.containers,
        spec.init_containers,
        [volume for volume in spec.volumes if _is_relevant(volume)] if spec.volumes else None,
        spec.host_network and spec.host_users is False,
        spec.node_selector,
        spec.affinity,
        spec.tolerations,
        spec.topology_spread_constraints,
        spec.overhead,
        spec.resources,
        spec.resource_claims,
    )
    return json.encode(parts)


def digest_shape(pod: ApiPod, namespace: str) -> PodShape:
    """Parse everything that the shape holds; raise ValueError where a part cannot be read."""
    metadata, spec = pod.metadata, pod.spec
    labels = metadata.labels or {}
    stated = pod_amounts(spec)
    with at("spec.affinity"):
        node_affinity, pod_affinity = affinity(spec.affinity, namespace)
    with at("spec.topologySpreadConstraints"):
        constraints = spread_constraints(spec.topology_spread_constraints, labels)
    with at("spec.tolerations"):
        tolerated = tolerations(spec.tolerations)
    with at("spec.nodeSelector"):
        node_selector = read(spec.node_selector, dict[str, str])
    containers = (*(spec.init_containers or ()), *(spec.containers or ()))
    return PodShape(
        namespace=namespace,
        labels=labels,
        owner=_owner(metadata),
        requests=to_resources(pod_requests(stated)),
        score_requests=to_resources(pod_requests(stated, DEFAULT_REQUESTS, pod_level=False)),
        non_zero_requests=to_resources(non_zero_requests(stated)),
        node_selector=node_selector,
        node_affinity=node_affinity,
        pod_affinity=pod_affinity,
        spread_constraints=constraints,
        tolerations=tolerated,
        host_ports=_host_ports(spec),
        images=_images(containers, spec.volumes or ()),
        container_count=len(containers),
        volumes=tuple(volume for each in spec.volumes or () if (volume := _volume(each)) is not None),
        resource_claims=tuple(claim.name for claim in read(spec.resource_claims, list[ApiNamed]) or ()),
        required_features=_required_features(spec, containers),
        limit_names=frozenset(name for each in containers for name in resource_names(each.resources)),
    )


def value_key(shape: PodShape) -> tuple[object, ...]:
    """Return the shape's value, hashable: shapes of equal value become one object."""
    return (
        shape.namespace,
        frozenset(shape.labels.items()),
        shape.owner,
        shape.requests,
        shape.score_requests,
        shape.non_zero_requests,
        None if shape.node_selector is None else frozenset(shape.node_selector.items()),
        shape.node_affinity,
        shape.pod_affinity,
        shape.spread_constraints,
        shape.tolerations,
        shape.host_ports,
        shape.images,
        shape.container_count,
        shape.volumes,
        shape.resource_claims,
        shape.required_features,
        shape.limit_names,
    )


def normalized_image_name(image: str) -> str:
    """Append `:latest` where the name has no tag or digest (upstream ImageLocality `normalizedImageName`)."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"


def _owner(metadata: ApiMetadata) -> OwnerReference | None:
    for each in metadata.owner_references or ():
        if each.controller:
            return OwnerReference(each.api_version, each.kind, each.name, each.uid)
    return None


def _host_ports(spec: ApiPodSpec) -> tuple[HostPort, ...]:
    """Ports of containers and sidecars; an ordinary init container's port is free again when the pod runs."""
    sidecars = (each for each in spec.init_containers or () if each.restart_policy == "Always")
    return tuple(
        HostPort(port.host_ip or "0.0.0.0", port.protocol or "TCP", port.host_port)  # noqa: S104 - the API's wildcard
        for container in (*(spec.containers or ()), *sidecars)
        for port in read(container.ports, list[ApiPort]) or ()
        if port.host_port > 0
    )


def _images(containers: Sequence[ApiContainer], volumes: Sequence[ApiVolume]) -> tuple[str, ...]:
    references = [each.image for each in containers] + [each.image.reference for each in volumes if each.image]
    return tuple(normalized_image_name(reference) for reference in references)


def _is_relevant(volume: ApiVolume) -> bool:
    return volume.image is not None or _volume(volume) is not None


def _volume(wire: ApiVolume) -> PodVolume | None:
    """Digest one volume; None for kinds that no filter looks at."""
    if claim := wire.persistent_volume_claim:
        return PodVolume(wire.name, claim_name=claim.claim_name, read_only=claim.read_only)
    return PodVolume(wire.name, ephemeral=True) if wire.ephemeral is not None else _legacy_disk(wire)


def _legacy_disk(wire: ApiVolume) -> PodVolume | None:
    if gce := wire.gce_persistent_disk:
        return PodVolume(wire.name, read_only=gce.read_only, disk=("gce", gce.pd_name))
    if aws := wire.aws_elastic_block_store:
        return PodVolume(wire.name, read_only=aws.read_only, disk=("aws", aws.volume_id))
    if iscsi := wire.iscsi:
        return PodVolume(wire.name, read_only=iscsi.read_only, disk=("iscsi", iscsi.iqn))
    if rbd := wire.rbd:
        monitors = frozenset(rbd.monitors or ())
        return PodVolume(wire.name, read_only=rbd.read_only, disk=("rbd", rbd.pool, rbd.image), monitors=monitors)
    return None


def _required_features(spec: ApiPodSpec, containers: Sequence[ApiContainer]) -> frozenset[str]:
    """Name the node features that the spec needs (upstream `nodedeclaredfeatures`, InferForScheduling)."""
    features = set()
    if any(_restarts_all(each.restart_policy_rules) for each in containers):
        features.add(RESTART_ALL_CONTAINERS)
    if spec.host_network and spec.host_users is False:
        features.add(USER_NAMESPACES_HOST_NETWORK)
    return frozenset(features)


def _restarts_all(rules: Raw) -> bool:
    return any(rule.action == "RestartAllContainers" for rule in read(rules, list[ApiRestartRule]) or ())
