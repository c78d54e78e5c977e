"""Valid and invalid specs of policies. Tests check them with the models and with the schema of the CRD."""

from typing import Any

Spec = dict[str, Any]

WHOLE: Spec = {
    "schedulerName": "gpu-training",
    "allowDefaultScheduler": False,
    "paused": False,
    "canary": {"of": "batch", "percent": 10},
    "preset": "BinPack",
    "filters": {
        "nodeSelector": {
            "matchLabels": {"team": "ml"},
            "matchExpressions": [
                {"key": "example.com/tier", "operator": "In", "values": ["a", "b"]},
                {"key": "dedicated", "operator": "DoesNotExist"},
            ],
        },
        "instanceTypes": {"allow": ["p5.*", "g6*"], "deny": ["g6.xlarge"]},
        "zones": {"allow": ["us-east-1a", "us-east-1b"], "deny": []},
        "lifecycles": ["on-demand", "spot"],
        "serverlessNodes": "Allow",
    },
    "weights": {"NodeResourcesFit": 1, "InstanceType": 3, "Lifecycle": 5, "ZoneSpread": 0, "Gpu": 100},
    "resources": {"strategy": "MostAllocated", "weights": {"cpu": 1, "memory": 1, "nvidia.com/gpu": 5}},
    "instanceTypes": {"scores": [{"match": "c5*", "score": 10}, {"match": "m[56]*", "score": 5}], "default": 1},
    "lifecycle": {
        "prefer": "on-demand",
        "podLabel": "example.com/lifecycle",
        "sources": [{"key": "pool-kind", "spot": ["cheap"], "onDemand": ["dear"], "reserved": []}],
    },
    "zones": {
        "spread": "Require",
        "scope": "Namespace",
        "maxSkew": 2,
        "honorUnschedulable": True,
        "prefer": {"us-east-1a": 10},
    },
    "gpu": {
        "resources": ["nvidia.com/gpu"],
        "podsWithoutGpu": "Forbid",
        "podsWithGpu": "Spread",
        "models": {"NVIDIA-H100-80GB-HBM3": 10},
    },
    "scarcity": {"resources": ["nvidia.com/gpu", "memory"]},
    "extenders": [
        {
            "urlPrefix": "https://extender.example.com/api",
            "filterVerb": "filter",
            "prioritizeVerb": "prioritize",
            "weight": 2,
            "enableHTTPS": True,
            "tlsConfig": {"caData": "Q0E=", "certData": "Q0VSVA==", "keyData": "S0VZ"},
            "httpTimeout": "1m1.5s",
            "nodeCacheCapable": True,
            "managedResources": [{"name": "example.com/fpga", "ignoredByScheduler": True}],
            "ignorable": True,
        },
        {"urlPrefix": "http://binder:8080", "bindVerb": "bind", "managedResources": [{"name": "example.com/nic"}]},
    ],
    "preemption": {"enabled": False, "pdbPolicy": "Strict"},
    "percentageOfNodesToScore": 100,
    "backoff": {"initialSeconds": 1, "maxSeconds": 10},
    "plugins": {
        "multiPoint": {"enabled": [{"name": "Own", "weight": 300}]},
        "score": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit", "weight": 5}]},
    },
    "pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated", "deep": [1]}}}],
}

EXTENDER: Spec = {"urlPrefix": "http://extender", "filterVerb": "filter"}
SHAPE = [{"utilization": 0, "score": 0}, {"utilization": 50, "score": 3}, {"utilization": 100, "score": 10}]

ACCEPTED: dict[str, Spec] = {
    "empty": {},
    "whole": WHOLE,
    "empty-sections": {
        name: {}
        for name in ("filters", "resources", "instanceTypes", "lifecycle", "zones", "gpu", "backoff", "plugins")
    },
    "nulls-are-absent": {"gpu": None, "zones": {"spread": None}, "paused": None},
    "shape": {"resources": {"strategy": "RequestedToCapacityRatio", "shape": SHAPE}},
    "one-shape-point": {"resources": {"strategy": "RequestedToCapacityRatio", "shape": SHAPE[:1]}},
    "bounds": {
        "weights": {"Gpu": 0, "Lifecycle": 100},
        "percentageOfNodesToScore": 0,
        "zones": {"prefer": {"a": 0, "b": 10}},
        "instanceTypes": {"default": 10},
    },
    "default-scheduler-allowed": {"schedulerName": "default-scheduler", "allowDefaultScheduler": True},
    "longest-name": {"schedulerName": "a" * 63},
    "https-unverified": {"extenders": [{**EXTENDER, "enableHTTPS": True, "tlsConfig": {"insecure": True}}]},
    "https-by-file": {"extenders": [{**EXTENDER, "enableHTTPS": True, "tlsConfig": {"caFile": "/ca.pem"}}]},
    "timeout-zero": {"extenders": [{**EXTENDER, "httpTimeout": "0"}]},
    "backoff-one-sided": {"backoff": {"initialSeconds": 60}},
    "list-elements-without-optional-fields": {
        "extenders": [
            {
                "urlPrefix": "https://extender.example.com/scheduler",
                "filterVerb": "filter",
                "enableHTTPS": True,
                "tlsConfig": {"insecure": True},
                "managedResources": [{"name": "example.com/token"}],
            },
            {"urlPrefix": "http://extender", "filterVerb": "filter", "tlsConfig": {"caFile": "/ca.pem"}},
        ],
        "plugins": {"score": {"disabled": [{"name": "InterPodAffinity"}], "enabled": [{"name": "NodeAffinity"}]}},
        "instanceTypes": {"scores": [{"match": "c5*", "score": 10}]},
        "lifecycle": {"sources": [{"key": "pool", "spot": ["cheap"]}]},
        "pluginConfig": [{"name": "NodeResourcesFit"}],
    },
    "most-extenders": {"extenders": [EXTENDER] * 16},
}

REFUSED: dict[str, tuple[str, Spec]] = {
    "unknown-field": ("spec.scheduler", {"scheduler": "x"}),
    "unknown-nested-field": ("spec.zones.spreads", {"zones": {"spreads": "Prefer"}}),
    "text-for-boolean": ("spec.paused", {"paused": "true"}),
    "text-for-number": ("spec.weights.Gpu", {"weights": {"Gpu": "5"}}),
    "fraction": ("spec.zones.maxSkew", {"zones": {"maxSkew": 1.5}}),
    "list-for-mapping": ("spec.gpu", {"gpu": []}),
    "mapping-for-list": ("spec.extenders", {"extenders": {}}),
    "empty-name": ("spec.schedulerName", {"schedulerName": ""}),
    "long-name": ("spec.schedulerName", {"schedulerName": "a" * 64}),
    "name-pattern": ("spec.schedulerName", {"schedulerName": "a/b"}),
    "default-scheduler": ("spec.schedulerName", {"schedulerName": "default-scheduler"}),
    "preset": ("spec.preset", {"preset": "binpack"}),
    "weight-high": ("spec.weights.Gpu", {"weights": {"Gpu": 101}}),
    "weight-low": ("spec.weights.Gpu", {"weights": {"Gpu": -1}}),
    "resource-weight": ("spec.resources.weights.cpu", {"resources": {"weights": {"cpu": 101}}}),
    "score-high": ("spec.instanceTypes.scores[0].score", {"instanceTypes": {"scores": [{"match": "a*", "score": 11}]}}),
    "score-low": ("spec.instanceTypes.default", {"instanceTypes": {"default": -1}}),
    "zone-score": ("spec.zones.prefer.a", {"zones": {"prefer": {"a": 11}}}),
    "model-score": ("spec.gpu.models.A100", {"gpu": {"models": {"A100": 11}}}),
    "row-without-score": ("spec.instanceTypes.scores[0].score", {"instanceTypes": {"scores": [{"match": "a*"}]}}),
    "empty-pattern": ("spec.filters.instanceTypes.allow[0]", {"filters": {"instanceTypes": {"allow": [""]}}}),
    "odd-pattern": ("spec.filters.instanceTypes.deny[0]", {"filters": {"instanceTypes": {"deny": ["a b"]}}}),
    "repeated-pattern": ("spec.filters.instanceTypes.allow[1]", {"filters": {"instanceTypes": {"allow": ["a", "a"]}}}),
    "repeated-lifecycle": ("spec.filters.lifecycles[1]", {"filters": {"lifecycles": ["spot", "spot"]}}),
    "lifecycle-class": ("spec.filters.lifecycles[0]", {"filters": {"lifecycles": ["Spot"]}}),
    "selector-operator": (
        "spec.filters.nodeSelector.matchExpressions[0].operator",
        {"filters": {"nodeSelector": {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]}}},
    ),
    "selector-without-values": (
        "spec.filters.nodeSelector.matchExpressions[0].values",
        {"filters": {"nodeSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}},
    ),
    "selector-with-values": (
        "spec.filters.nodeSelector.matchExpressions[0].values",
        {"filters": {"nodeSelector": {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}}},
    ),
    "shape-without-strategy": ("spec.resources.shape", {"resources": {"shape": SHAPE}}),
    "shape-with-another-strategy": (
        "spec.resources.shape",
        {"resources": {"strategy": "MostAllocated", "shape": SHAPE}},
    ),
    "strategy-without-shape": ("spec.resources.shape", {"resources": {"strategy": "RequestedToCapacityRatio"}}),
    "shape-falls": (
        "spec.resources.shape[1].utilization",
        {"resources": {"strategy": "RequestedToCapacityRatio", "shape": SHAPE[::-1]}},
    ),
    "shape-repeats-a-utilization": (
        "spec.resources.shape[1].utilization",
        {"resources": {"strategy": "RequestedToCapacityRatio", "shape": [SHAPE[0], SHAPE[0]]}},
    ),
    "shape-utilization": (
        "spec.resources.shape[0].utilization",
        {"resources": {"strategy": "RequestedToCapacityRatio", "shape": [{"utilization": 101, "score": 1}]}},
    ),
    "source-without-values": ("spec.lifecycle.sources[0]", {"lifecycle": {"sources": [{"key": "a"}]}}),
    "pod-label": ("spec.lifecycle.podLabel", {"lifecycle": {"podLabel": "a label"}}),
    "yaml-1.1-boolean": ("spec.zones.spread", {"zones": {"spread": False}}),
    "skew": ("spec.zones.maxSkew", {"zones": {"maxSkew": 0}}),
    "no-gpu-resource": ("spec.gpu.resources", {"gpu": {"resources": []}}),
    "shadow-without-name": ("spec.shadowOf", {"mode": "Shadow"}),
    "shadow-name-without-mode": ("spec.shadowOf", {"shadowOf": "default-scheduler"}),
    "shadow-as-canary": (
        "spec.canary",
        {"mode": "Shadow", "shadowOf": "default-scheduler", "canary": {"of": "batch", "percent": 10}},
    ),
    "canary-percent": ("spec.canary.percent", {"canary": {"of": "batch", "percent": 101}}),
    "canary-without-policy": ("spec.canary.of", {"canary": {"percent": 10}}),
    "percentage": ("spec.percentageOfNodesToScore", {"percentageOfNodesToScore": 101}),
    "backoff-zero": ("spec.backoff.initialSeconds", {"backoff": {"initialSeconds": 0}}),
    "backoff-falls": ("spec.backoff.maxSeconds", {"backoff": {"initialSeconds": 5, "maxSeconds": 4}}),
    "pdb-policy": ("spec.preemption.pdbPolicy", {"preemption": {"pdbPolicy": "strict"}}),
    "extender-without-url": ("spec.extenders[0].urlPrefix", {"extenders": [{"filterVerb": "filter"}]}),
    "extender-url": ("spec.extenders[0].urlPrefix", {"extenders": [{**EXTENDER, "urlPrefix": "extender:80"}]}),
    "extender-port": ("spec.extenders[0].urlPrefix", {"extenders": [{**EXTENDER, "urlPrefix": "http://x:65536"}]}),
    "extender-host": ("spec.extenders[0].urlPrefix", {"extenders": [{**EXTENDER, "urlPrefix": "http://:1"}]}),
    "extender-query": ("spec.extenders[0].urlPrefix", {"extenders": [{**EXTENDER, "urlPrefix": "http://x/?q=1"}]}),
    "extender-without-verb": ("spec.extenders[0]", {"extenders": [{"urlPrefix": "http://extender"}]}),
    "extender-empty-verb": ("spec.extenders[0].filterVerb", {"extenders": [{**EXTENDER, "filterVerb": ""}]}),
    "extender-without-weight": ("spec.extenders[0].weight", {"extenders": [{**EXTENDER, "prioritizeVerb": "rank"}]}),
    "https-without-tls": ("spec.extenders[0].tlsConfig", {"extenders": [{**EXTENDER, "enableHTTPS": True}]}),
    "https-without-ca": (
        "spec.extenders[0].tlsConfig",
        {"extenders": [{**EXTENDER, "enableHTTPS": True, "tlsConfig": {"serverName": "x"}}]},
    ),
    "insecure-with-ca": (
        "spec.extenders[0].tlsConfig.insecure",
        {"extenders": [{**EXTENDER, "enableHTTPS": True, "tlsConfig": {"insecure": True, "caFile": "/ca.pem"}}]},
    ),
    "certificate-without-key": (
        "spec.extenders[0].tlsConfig.certFile",
        {"extenders": [{**EXTENDER, "tlsConfig": {"certFile": "/crt.pem"}}]},
    ),
    "server-name-null": (
        "spec.extenders[0].tlsConfig.serverName",
        {"extenders": [{**EXTENDER, "tlsConfig": {"serverName": "a\0b"}}]},
    ),
    "server-name-dot": (
        "spec.extenders[0].tlsConfig.serverName",
        {"extenders": [{**EXTENDER, "tlsConfig": {"serverName": "."}}]},
    ),
    "base64": ("spec.extenders[0].tlsConfig.caData", {"extenders": [{**EXTENDER, "tlsConfig": {"caData": "---"}}]}),
    "timeout": ("spec.extenders[0].httpTimeout", {"extenders": [{**EXTENDER, "httpTimeout": "5 s"}]}),
    "timeout-number": ("spec.extenders[0].httpTimeout", {"extenders": [{**EXTENDER, "httpTimeout": 5}]}),
    "native-resource": (
        "spec.extenders[0].managedResources[0].name",
        {"extenders": [{**EXTENDER, "managedResources": [{"name": "cpu"}]}]},
    ),
    "two-binders": ("spec.extenders[1].bindVerb", {"extenders": [{**EXTENDER, "bindVerb": "bind"}] * 2}),
    "resource-managed-twice": (
        "spec.extenders[1].managedResources[0].name",
        {"extenders": [{**EXTENDER, "managedResources": [{"name": "example.com/a"}]}] * 2},
    ),
    "too-many-extenders": ("spec.extenders", {"extenders": [EXTENDER] * 17}),
    "unknown-extension-point": ("spec.plugins.filters", {"plugins": {"filters": {}}}),
    "plugin-without-name": ("spec.plugins.score.enabled[0].name", {"plugins": {"score": {"enabled": [{"weight": 1}]}}}),
    "plugin-config-twice": ("spec.pluginConfig[1]", {"pluginConfig": [{"name": "Own"}, {"name": "Own"}]}),
    "arguments-not-a-mapping": ("spec.pluginConfig[0].args", {"pluginConfig": [{"name": "Own", "args": [1]}]}),
}


PATHS_OF_CEL = {
    "shape-falls": "spec.resources.shape",
    "shape-repeats-a-utilization": "spec.resources.shape",
    "two-binders": "spec.extenders",
    "resource-managed-twice": "spec.extenders",
    "certificate-without-key": "spec.extenders[0].tlsConfig",
}
"""Samples for which the API server and the models name different paths, with the path of the API server.

These samples break a CEL rule. The path of a CEL rule is fixed in the schema.
"""


def policy(spec: Spec, name: str = "sample") -> dict[str, Any]:
    """Return an object with the spec, as kubectl sends it."""
    return {
        "apiVersion": "scheduling.moorage.dev/v1alpha1",
        "kind": "SchedulingPolicy",
        "metadata": {"name": name},
        "spec": spec,
    }
