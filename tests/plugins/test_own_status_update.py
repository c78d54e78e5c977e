"""Every failed attempt writes the pod's status. That update must not return the pod to the queue."""

from __future__ import annotations

import pytest

from builders import pod
from moorage.framework.cluster_events import updated
from moorage.framework.registry import Registry

PLUGINS = {name: plugin for name, plugin in Registry.discover().classes.items() if "Pod" in plugin.interests}
REJECTED_SPEC = {"schedulingGates": [{"name": "wait"}], "resourceClaims": [{"name": "gpu"}]}
"""The fields for which SchedulingGates and DynamicResources reject a pod."""
CONDITION = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}


@pytest.mark.parametrize("name", PLUGINS)
def test_status_update_of_a_rejected_pod_does_not_queue_it(name: str) -> None:
    rejected = pod(spec=REJECTED_SPEC, metadata={"uid": "1", "resourceVersion": "1"})
    reported = pod(
        spec=REJECTED_SPEC, metadata={"uid": "1", "resourceVersion": "2"}, status={"conditions": [CONDITION]}
    )

    assert not PLUGINS[name]().queueing_hint(rejected, updated("Pod", rejected, reported))
