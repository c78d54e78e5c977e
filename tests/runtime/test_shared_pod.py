"""shared_pod: the part of a pod that extenders of policies receive."""

import json
from typing import Any

import pytest

from moorage.runtime.extenders.shared_pod import shared_pod

SECRETS: dict[str, Any] = {
    "env": [{"name": "TOKEN", "value": "SECRET"}],
    "envFrom": [{"secretRef": {"name": "SECRET"}}],
    "command": ["SECRET"],
    "args": ["--password=SECRET"],
    "livenessProbe": {"exec": {"command": ["SECRET"]}},
    "lifecycle": {"postStart": {"exec": {"command": ["SECRET"]}}},
}
NEEDED = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}, "ports": [{"containerPort": 80}]}
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "p",
        "namespace": "n",
        "uid": "u",
        "labels": {"app": "a"},
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "SECRET"},
        "managedFields": [{"manager": "SECRET"}],
    },
    "spec": {
        "containers": [{**NEEDED, **SECRETS}],
        "initContainers": [{**NEEDED, **SECRETS}],
        "ephemeralContainers": [{**NEEDED, **SECRETS}],
        "imagePullSecrets": [{"name": "SECRET"}],
        "hostAliases": [{"ip": "1.2.3.4", "hostnames": ["SECRET"]}],
        "serviceAccountName": "SECRET",
        "volumes": [
            {"name": "s", "secret": {"secretName": "SECRET"}},
            {"name": "d", "persistentVolumeClaim": {"claimName": "data"}},
        ],
        "nodeSelector": {"a": "b"},
        "priority": 5,
        "schedulerName": "x",
        "tolerations": None,
        "aFieldOfNextYear": "SECRET",
    },
    "status": {"phase": "Pending", "message": "SECRET", "qosClass": "Burstable"},
}


def test_fields_for_placement_are_kept_and_all_others_are_left_out() -> None:
    shared = json.loads(shared_pod(json.dumps(POD).encode()))
    assert "SECRET" not in json.dumps(shared)
    assert shared["metadata"] == {"name": "p", "namespace": "n", "uid": "u", "labels": {"app": "a"}}
    assert shared["spec"]["containers"] == shared["spec"]["initContainers"] == [NEEDED]
    assert shared["spec"]["volumes"] == [
        {"name": "s"},
        {"name": "d", "persistentVolumeClaim": {"claimName": "data"}},
    ]
    assert (shared["spec"]["nodeSelector"], shared["spec"]["priority"]) == ({"a": "b"}, 5)
    assert shared["status"] == {"phase": "Pending", "qosClass": "Burstable"}


def test_an_object_that_is_not_a_pod_fails_the_call() -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        shared_pod(b'{"spec": {"containers": [1]}}')
