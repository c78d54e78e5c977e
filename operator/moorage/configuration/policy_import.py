"""Converts a KubeSchedulerConfiguration to SchedulingPolicy objects and to values of the chart.

A profile and its policy compile to the same plugins, weights and arguments. These functions do no I/O.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from moorage.api.v1alpha1 import API_VERSION, DEFAULT_SCHEDULER_NAME, KIND
from moorage.configuration.loading import KubeSchedulerConfiguration, KubeSchedulerProfile

Manifest = dict[str, Any]

_IN_POLICIES = {"profiles", "extenders", "percentage_of_nodes_to_score"}
_IN_POLICIES |= {"pod_initial_backoff_seconds", "pod_max_backoff_seconds"}
"""Fields of the configuration that become fields of each policy."""
_HEADER = {"api_version", "kind"}
_FROM_RELEASE = {"leader_election": {"resource_name", "resource_namespace"}, "client_connection": {"kubeconfig"}}
"""Fields that the chart sets from the name and namespace of the release."""


def policies_of(configuration: KubeSchedulerConfiguration, *, allow_default_scheduler: bool = False) -> list[Manifest]:
    """Return a policy for each profile. Each policy also has the fields that the configuration sets for all profiles.

    Only the user may decide that a policy serves the name default-scheduler. Without `allow_default_scheduler`, the API
    server refuses a policy with this name, and its error message names the field to set.
    """
    policies = [_policy(profile, configuration) for profile in configuration.profiles]
    for policy in policies:
        if allow_default_scheduler and policy["metadata"]["name"] == DEFAULT_SCHEDULER_NAME:
            policy["spec"]["allowDefaultScheduler"] = True
    return policies


def names_default_scheduler(configuration: KubeSchedulerConfiguration) -> bool:
    """Return whether a profile has kube-scheduler's name."""
    return any(_name_of(profile) == DEFAULT_SCHEDULER_NAME for profile in configuration.profiles)


def extender_hosts(configuration: KubeSchedulerConfiguration) -> list[str]:
    """Return the hosts of the extenders, each once, in the form of the operator's flag --policy-extenders."""
    hosts = (urlsplit(extender.url_prefix).hostname or "" for extender in configuration.extenders)
    return list(dict.fromkeys(f"[{host}]" if ":" in host else host for host in hosts))


def chart_values_of(configuration: KubeSchedulerConfiguration) -> Manifest:
    """Return values of the chart for the fields that are not part of a policy."""
    config = configuration.model_dump(
        mode="json",
        by_alias=True,
        exclude_unset=True,
        exclude={**dict.fromkeys(_IN_POLICIES | _HEADER, True), **_FROM_RELEASE},
    )
    for address in ("healthzBindAddress", "metricsBindAddress"):
        config.pop(address, None)
    return {"config": {name: value for name, value in config.items() if value != {}}}


def _policy(profile: KubeSchedulerProfile, configuration: KubeSchedulerConfiguration) -> Manifest:
    written = profile.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude={"scheduler_name"})
    spec: Manifest = {"filters": {"serverlessNodes": "Allow"}, **written}
    shared = configuration.model_dump(mode="json", by_alias=True, exclude_unset=True, include=_IN_POLICIES)
    if "percentageOfNodesToScore" in shared:
        spec.setdefault("percentageOfNodesToScore", shared["percentageOfNodesToScore"])
    spec["backoff"] = {
        "initialSeconds": configuration.pod_initial_backoff_seconds,
        "maxSeconds": configuration.pod_max_backoff_seconds,
    }
    if shared.get("extenders"):
        spec["extenders"] = shared["extenders"]
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": _name_of(profile)}, "spec": spec}


def _name_of(profile: KubeSchedulerProfile) -> str:
    return profile.scheduler_name or DEFAULT_SCHEDULER_NAME
