"""Reads parity cases. A case has a cluster, one pod, optionally a configuration, and kube-scheduler's decision.

A `.jsonl` or `.jsonl.gz` file has one case in each line: `{"case": INPUT, "expect": DECISION}`.
tests/parity/vectors/README.md describes the format.
"""

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moorage.errors import ConfigurationError, Fault

KINDS: Mapping[str, str] = {
    "namespaces": "Namespace",
    "nodes": "Node",
    "storageClasses": "StorageClass",
    "pvs": "PersistentVolume",
    "pvcs": "PersistentVolumeClaim",
    "csinodes": "CSINode",
    "csidrivers": "CSIDriver",
    "csiStorageCapacities": "CSIStorageCapacity",
    "volumeAttachments": "VolumeAttachment",
    "deviceClasses": "DeviceClass",
    "services": "Service",
    "replicationControllers": "ReplicationController",
    "replicaSets": "ReplicaSet",
    "statefulSets": "StatefulSet",
    "pdbs": "PodDisruptionBudget",
    "pods": "Pod",
}
"""A case's lists of objects with their kinds, in the order in which the scheduler gets them."""
UNUSED = frozenset({"resourceClaims", "resourceSlices"})
"""Lists that a case may have, although no plugin reads them."""
OTHER_FIELDS = frozenset({"id", "tags", "pod", "config", "featureGates"})


@dataclass(frozen=True, slots=True)
class Case:
    """One case of a file."""

    id: str
    group: str
    """The part of the id before the slash."""
    given: Mapping[str, Any]
    expected: Mapping[str, Any]


def read_cases(path: Path) -> Iterator[Case]:
    """Yield the cases of a file. Raise ConfigurationError with the line of a case that cannot be read."""
    packed = path.read_bytes()
    text = (gzip.decompress(packed) if path.suffix == ".gz" else packed).decode()
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield _read_case(line, path, number)


def _read_case(line: str, path: Path, number: int) -> Case:
    try:
        body = json.loads(line)
        given, expected = body["case"], body["expect"]
        unknown = given.keys() - KINDS.keys() - UNUSED - OTHER_FIELDS
        case_id = given["id"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        fault = Fault((str(path),), number, f"is not a case with an expected decision ({error})")
        raise ConfigurationError([fault]) from error
    if unknown:
        raise ConfigurationError([Fault((str(path),), number, f"unknown fields: {', '.join(sorted(unknown))}")])
    return Case(case_id, case_id.partition("/")[0], given, expected)
