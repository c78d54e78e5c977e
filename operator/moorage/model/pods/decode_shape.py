"""Decodes the shape of a pod: the fields that all pods of one template share.

`raw_key` collects the raw JSON of every field that the shape depends on. Pods of one template have equal keys, so their
shape is decoded once. The key leaves out values that differ between the pods of a template, such as the
`kube-api-access-xxxxx` volume that the API server adds.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Raw, json

from moorage.model.api_metadata import ApiMetadata
from moorage.model.pods.api_pod_volumes import ApiVolume
from moorage.model.pods.api_pods import ApiContainer, ApiNamed, ApiPod, ApiPodSpec, ApiPort, ApiRestartRule
from moorage.model.pods.decode_amounts import decode_pod_amounts, decode_pod_limits, resource_names
from moorage.model.pods.decode_constraints import decode_affinity, decode_spread_constraints, decode_tolerations
from moorage.model.pods.decode_pod_volumes import affects_shape, decode_pod_volumes
from moorage.model.pods.pod import HostPort, OwnerReference, PodShape
from moorage.model.pods.requests import DEFAULT_REQUESTS, non_zero_requests, pod_limits, pod_requests, to_resources
from moorage.model.raw_fields import error_path, read

_RESTART_ALL_CONTAINERS = "RestartAllContainersOnContainerExits"
_USER_NAMESPACES_HOST_NETWORK = "UserNamespacesHostNetworkSupport"


def raw_key(pod: ApiPod) -> bytes:
    """Return the raw JSON of all fields that the shape depends on."""
    metadata, spec = pod.metadata, pod.spec
    parts = (
        metadata.namespace,
        metadata.labels,
        metadata.owner_references,
        spec.containers,
        spec.init_containers,
        [volume for volume in spec.volumes if affects_shape(volume)] if spec.volumes else None,
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


def decode_shape(pod: ApiPod, namespace: str) -> PodShape:
    """Decode the shape of a pod in `namespace`; raise ValueError with the path of an invalid field."""
    metadata, spec = pod.metadata, pod.spec
    labels = metadata.labels or {}
    amounts = decode_pod_amounts(spec)
    with error_path("spec.affinity"):
        node_affinity, pod_affinity = decode_affinity(spec.affinity, namespace)
    with error_path("spec.topologySpreadConstraints"):
        constraints = decode_spread_constraints(spec.topology_spread_constraints, labels)
    with error_path("spec.tolerations"):
        tolerated = decode_tolerations(spec.tolerations)
    with error_path("spec.nodeSelector"):
        node_selector = read(spec.node_selector, dict[str, str])
    containers = (*(spec.init_containers or ()), *(spec.containers or ()))
    return PodShape(
        namespace=namespace,
        labels=labels,
        owner=owner_of(metadata),
        requests=to_resources(pod_requests(amounts)),
        score_requests=to_resources(pod_requests(amounts, DEFAULT_REQUESTS, pod_level=False)),
        non_zero_requests=to_resources(non_zero_requests(amounts)),
        node_selector=node_selector,
        node_affinity=node_affinity,
        pod_affinity=pod_affinity,
        spread_constraints=constraints,
        tolerations=tolerated,
        host_ports=host_ports_of(spec),
        images=_images(containers, spec.volumes or ()),
        container_count=len(containers),
        volumes=decode_pod_volumes(spec.volumes),
        resource_claims=tuple(claim.name for claim in read(spec.resource_claims, list[ApiNamed]) or ()),
        required_features=_required_features(spec, containers),
        limits=to_resources(pod_limits(decode_pod_limits(spec))),
        limit_names=frozenset(name for each in containers for name in resource_names(each.resources)),
    )


def value_key(shape: PodShape) -> tuple[object, ...]:
    """Return a hashable key of all fields; the decoder keeps only one object of shapes with equal keys."""
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
        shape.limits,
        shape.limit_names,
        shape.is_too_large,
    )


def normalized_image_name(image: str) -> str:
    """Return the name with `:latest` if it has no tag or digest.

    Upstream: `pkg/scheduler/framework/plugins/imagelocality/image_locality.go`, normalizedImageName.
    """
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"


def owner_of(metadata: ApiMetadata) -> OwnerReference | None:
    """Return the owner reference of the controller; None if the object has no controller."""
    for each in metadata.owner_references or ():
        if each.controller:
            return OwnerReference(each.api_version, each.kind, each.name, each.uid)
    return None


def host_ports_of(spec: ApiPodSpec) -> tuple[HostPort, ...]:
    """Return the host ports of containers and sidecars. Other init containers end before the containers start."""
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


def _required_features(spec: ApiPodSpec, containers: Sequence[ApiContainer]) -> frozenset[str]:
    """Return the node features that the spec needs (upstream `nodedeclaredfeatures`, InferForScheduling)."""
    features = set()
    if any(_restarts_all(each.restart_policy_rules) for each in containers):
        features.add(_RESTART_ALL_CONTAINERS)
    if spec.host_network and spec.host_users is False:
        features.add(_USER_NAMESPACES_HOST_NETWORK)
    return frozenset(features)


def _restarts_all(rules: Raw) -> bool:
    return any(rule.action == "RestartAllContainers" for rule in read(rules, list[ApiRestartRule]) or ())
