"""The defaults of kube-scheduler 1.36: plugins, their weights, and feature gates.

Upstream: pkg/scheduler/apis/config/v1/default_plugins.go, pkg/features/kube_features.go.
"""

from collections.abc import Mapping

DEFAULT_PLUGINS: Mapping[str, int] = {
    "SchedulingGates": 0,
    "PrioritySort": 0,
    "NodeUnschedulable": 0,
    "NodeName": 0,
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodePorts": 0,
    "NodeResourcesFit": 1,
    "VolumeRestrictions": 0,
    "NodeVolumeLimits": 0,
    "VolumeBinding": 0,
    "VolumeZone": 0,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "DynamicResources": 2,
    "DefaultPreemption": 0,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
    "DefaultBinder": 0,
    "NodeDeclaredFeatures": 0,
}
"""The default plugins, in the order in which they run, with the weights of their scores."""

DEFAULT_GATES: Mapping[str, bool] = {
    "NodeDeclaredFeatures": True,
    "StorageCapacityScoring": False,
    "TaintTolerationComparisonOperators": False,
    "VolumeLimitScaling": False,
}
"""The feature gates that plugins read, with their default states."""

GATED_PLUGINS: Mapping[str, str] = {"NodeDeclaredFeatures": "NodeDeclaredFeatures"}
"""The default plugins that run only while a feature gate is on, each with the name of its gate."""
