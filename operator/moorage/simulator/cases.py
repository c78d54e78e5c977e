"""Parity cases: a cluster, one pod, perhaps a profile, and what kube-scheduler decided for it.

A file holds a case a line, as JSON: `{"case": INPUT, "expect": DECISION}`; `.jsonl`, or `.jsonl.gz`. The format is
described in tests/parity/vectors/README.md.
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
    "services": "Service",
    "replicationControllers": "ReplicationController",
    "replicaSets": "ReplicaSet",
    "statefulSets": "StatefulSet",
    "pdbs": "PodDisruptionBudget",
    "pods": "Pod",
}
"""Lists of objects in a case, in the order in which they are posted, with their kinds."""
UNUSED = frozenset({"deviceClasses", "resourceClaims", "resourceSlices"})
"""Lists that a case may have and that no plugin reads yet."""
OTHER_FIELDS = frozenset({"id", "tags", "pod", "config", "featureGates"})


@dataclass(frozen=True, slots=True)
class Case:
    """One line of a file."""

    id: str
    group: str
    """What comes before the slash of the id."""
    given: Mapping[str, Any]
    expected: Mapping[str, Any]


def read_cases(path: Path) -> Iterator[Case]:
    """Yield a file's cases; ConfigurationError names the line of one that cannot be read."""
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
        fault = Fault((str(path),), number, f"is no case with its expected decision ({error})")
        raise ConfigurationError([fault]) from error
    if unknown:
        raise ConfigurationError([Fault((str(path),), number, f"unknown fields: {', '.join(sorted(unknown))}")])
    return Case(case_id, case_id.partition("/")[0], given, expected)
