"""The fields of a pod that extenders of policies receive.

kube-scheduler sends whole pods. The author of a policy may be a tenant, but the pods of the policy and the victims of
preemption may belong to other tenants. So a policy's extender receives only the fields that placement depends on.
Fields that may contain a secret are left out, such as environment variables, commands, arguments, probes and
annotations.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct

from moorage.nested_json import decode_nested

NULL = Raw(b"null")
"""The value of an absent field. An absent field is not encoded. (msgspec would decode a field of type `Raw | None` as a
Python value.)"""


class _SharedMetadata(Struct, rename="camel", omit_defaults=True):
    name: Raw = NULL
    generate_name: Raw = NULL
    namespace: Raw = NULL
    uid: Raw = NULL
    resource_version: Raw = NULL
    generation: Raw = NULL
    creation_timestamp: Raw = NULL
    deletion_timestamp: Raw = NULL
    labels: Raw = NULL
    owner_references: Raw = NULL


class _SharedContainer(Struct, rename="camel", omit_defaults=True):
    name: Raw = NULL
    image: Raw = NULL
    resources: Raw = NULL
    ports: Raw = NULL
    restart_policy: Raw = NULL


class _SharedVolume(Struct, rename="camel", omit_defaults=True):
    name: Raw = NULL
    persistent_volume_claim: Raw = NULL
    ephemeral: Raw = NULL


class _SharedSpec(Struct, rename="camel", omit_defaults=True):
    scheduler_name: Raw = NULL
    node_name: Raw = NULL
    node_selector: Raw = NULL
    affinity: Raw = NULL
    tolerations: Raw = NULL
    topology_spread_constraints: Raw = NULL
    priority: Raw = NULL
    priority_class_name: Raw = NULL
    preemption_policy: Raw = NULL
    resources: Raw = NULL
    resource_claims: Raw = NULL
    overhead: Raw = NULL
    runtime_class_name: Raw = NULL
    host_network: Raw = NULL
    os: Raw = NULL
    containers: list[_SharedContainer] | None = None
    init_containers: list[_SharedContainer] | None = None
    volumes: list[_SharedVolume] | None = None


class _SharedStatus(Struct, rename="camel", omit_defaults=True):
    phase: Raw = NULL
    qos_class: Raw = NULL
    nominated_node_name: Raw = NULL
    start_time: Raw = NULL


class _SharedPod(Struct, rename="camel", omit_defaults=True):
    metadata: _SharedMetadata | None = None
    spec: _SharedSpec | None = None
    status: _SharedStatus | None = None


_DECODER = msgspec.json.Decoder(_SharedPod)


def shared_pod(whole: bytes) -> bytes:
    """Return the part of a pod's object that extenders of policies receive; raise ValueError if it is not a pod."""
    try:
        return msgspec.json.encode(decode_nested(_DECODER.decode, whole))
    except msgspec.DecodeError as error:
        raise ValueError(f"the pod's object cannot be read: {error}") from error
