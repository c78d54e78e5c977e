"""Random scheduler configurations: most are valid, and kube-scheduler refuses some."""

from random import Random
from typing import Any

SCORE_PLUGINS = (
    "TaintToleration",
    "NodeAffinity",
    "NodeResourcesFit",
    "VolumeBinding",
    "PodTopologySpread",
    "InterPodAffinity",
    "DynamicResources",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
)
FILTER_PLUGINS = (
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    "DynamicResources",
    "NodeDeclaredFeatures",
)
POINTS = {
    "filter": FILTER_PLUGINS,
    "preFilter": FILTER_PLUGINS[3:],
    "score": SCORE_PLUGINS,
    "preScore": SCORE_PLUGINS[:6],
    "postFilter": ("DefaultPreemption", "DynamicResources"),
    "multiPoint": tuple(dict.fromkeys([*FILTER_PLUGINS, *SCORE_PLUGINS, "DefaultPreemption", "SchedulingGates"])),
}
RESOURCES = ("cpu", "memory", "ephemeral-storage", "nvidia.com/gpu", "example.com/foo")
KEYS = ("topology.kubernetes.io/zone", "kubernetes.io/hostname", "rack", "disk")
RARE = 0.04
"""The probability with which a value is one that kube-scheduler may refuse."""


def random_config(random: Random) -> dict[str, Any]:
    """Return a profile, or a configuration with one or two profiles."""
    if random.random() < 0.8:
        return _profile(random)
    profiles = [{"schedulerName": "default-scheduler", **_profile(random)}]
    if random.random() < 0.5:
        profiles.append({"schedulerName": _rarely(random, "default-scheduler", "second"), **_profile(random)})
    return {"profiles": profiles}


def _rarely(random: Random, rare: Any, usual: Any) -> Any:
    return rare if random.random() < RARE else usual


def _profile(random: Random) -> dict[str, Any]:
    profile: dict[str, Any] = {}
    if random.random() < 0.6:
        points = random.sample(list(POINTS), random.choice([1, 1, 2, 3]))
        profile["plugins"] = {point: _plugin_set(point, random) for point in points}
    if random.random() < 0.7 or not profile:
        names = random.sample(list(ARGUMENTS), random.choice([1, 1, 2]))
        profile["pluginConfig"] = [{"name": name, "args": ARGUMENTS[name](random)} for name in names]
    return profile


def _plugin_set(point: str, random: Random) -> dict[str, Any]:
    names = list(POINTS[point])
    disabled = random.sample(names, random.choice([0, 1, 1, 2]))
    if random.random() < 0.15:
        disabled = ["*"]
    if random.random() < RARE:
        # Only in `enabled`: in `disabled`, kube-scheduler ignores an unknown plugin and moorage refuses it.
        names.append("NoSuchPlugin")
    enabled = random.sample(names, min(random.choice([0, 0, 1, 2, 3]), len(names)))
    if random.random() < 0.5:
        enabled += [name for name in disabled if name != "*" and name not in enabled]
    return {
        "disabled": [{"name": name} for name in disabled],
        "enabled": [_enabled(name, random) for name in enabled],
    }


def _enabled(name: str, random: Random) -> dict[str, Any]:
    weight = random.choice([None, 0, 1, 2, 5, 50, 100])
    return {"name": name} if weight is None else {"name": name, "weight": weight}


def _fit(random: Random) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    if random.random() < 0.3:
        arguments["ignoredResources"] = random.sample(["nvidia.com/gpu", "example.com/foo", "cpu"], 1)
    if random.random() < 0.2:
        arguments["ignoredResourceGroups"] = [_rarely(random, "example.com/foo", "example.com")]
    if random.random() < 0.85:
        arguments["scoringStrategy"] = _strategy(random)
    return arguments


def _strategy(random: Random) -> dict[str, Any]:
    kind = random.choice(["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio", "RequestedToCapacityRatio"])
    strategy: dict[str, Any] = {"type": _rarely(random, "Best", kind)}
    if random.random() < 0.8:
        strategy["resources"] = [
            {"name": name, "weight": _rarely(random, 101, random.choice([0, 1, 1, 2, 3, 10, 100]))}
            for name in random.sample(RESOURCES, random.choice([1, 2, 3]))
        ]
    if kind == "RequestedToCapacityRatio" or random.random() < RARE:
        points = sorted(random.sample(range(101), random.choice([1, 2, 2, 3, 4, 6])))
        if random.random() < 0.5:
            points = sorted({0, *points, 100})
        shape = [{"utilization": point, "score": _rarely(random, 11, random.randrange(11))} for point in points]
        strategy["requestedToCapacityRatio"] = {"shape": shape}
    return strategy


def _balanced(random: Random) -> dict[str, Any]:
    names = random.sample(RESOURCES, random.choice([1, 2, 3, 4]))
    return {"resources": [{"name": name, "weight": _rarely(random, 2, 1)} for name in names]}


def _affinity(random: Random) -> dict[str, Any]:
    return {
        "hardPodAffinityWeight": _rarely(random, 101, random.choice([0, 1, 10, 100])),
        "ignorePreferredTermsOfExistingPods": random.random() < 0.4,
    }


def _spread(random: Random) -> dict[str, Any]:
    kind = random.choice(["List", "List", "List", "System"])
    arguments: dict[str, Any] = {"defaultingType": kind}
    if kind == "List" or random.random() < RARE:
        arguments["defaultConstraints"] = [
            {
                "maxSkew": _rarely(random, 0, random.choice([1, 1, 2, 3])),
                "topologyKey": key,
                "whenUnsatisfiable": random.choice(["DoNotSchedule", "ScheduleAnyway", "ScheduleAnyway"]),
            }
            for key in random.sample(KEYS, random.choice([1, 2, 3]))
        ]
        if random.random() < RARE:
            arguments["defaultConstraints"][0]["labelSelector"] = {"matchLabels": {"app": "web"}}
    return arguments


def _preemption(random: Random) -> dict[str, Any]:
    # No case has 100 nodes, so all nodes are candidates. Otherwise each scheduler would choose candidates at random.
    return {
        "minCandidateNodesPercentage": _rarely(random, 101, random.choice([0, 10, 100])),
        "minCandidateNodesAbsolute": 100,
    }


def _node_affinity(random: Random) -> dict[str, Any]:
    key, value = random.choice(
        [("topology.kubernetes.io/zone", "z-a"), ("disk", "ssd"), ("kubernetes.io/arch", "amd64"), ("rank", "3")]
    )
    operator = random.choice(["In", "NotIn", "Exists", "DoesNotExist"])
    values = {"values": [value]} if operator in ("In", "NotIn") else {}
    term = {"matchExpressions": [{"key": key, "operator": operator, **values}]}
    if random.random() < 0.5:
        preferred = [{"weight": _rarely(random, 0, random.randrange(1, 101)), "preference": term}]
        return {"addedAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    required = {"nodeSelectorTerms": [term]}
    return {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


ARGUMENTS = {
    "NodeResourcesFit": _fit,
    "NodeResourcesBalancedAllocation": _balanced,
    "InterPodAffinity": _affinity,
    "PodTopologySpread": _spread,
    "DefaultPreemption": _preemption,
    "NodeAffinity": _node_affinity,
}
