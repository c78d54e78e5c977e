"""Warnings for fields that moorage accepts, like kube-scheduler, but that have no effect in moorage.

`kube-scheduler --write-config-to` writes all of these fields, even if the user has not set them.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from moorage.configuration.located_content import LocatedContent, mappings_in
from moorage.configuration.scheduler_configuration import API_VERSION, DEFAULT_LEASE_NAME
from moorage.errors import Fault, Location

KUBE_SCHEDULER_LEASE = "kube-scheduler"

_ADDRESS = f"is not a field of {API_VERSION} and has no effect; set --bind-address and --port"
_FIELDS = {
    "healthzBindAddress": _ADDRESS,
    "metricsBindAddress": _ADDRESS,
    "enableProfiling": "has no effect; moorage has no Go profiles",
    "enableContentionProfiling": "has no effect; moorage has no Go profiles",
    "delayCacheUntilActive": "has no effect; every replica keeps its cache warm",
}
_CLIENT_FIELDS = ("acceptContentTypes", "contentType")
_POINTS = ("placementGenerate", "placementScore")
_DEVICE_ARGUMENTS = ("filterTimeout", "bindingTimeout")


def ineffective_fields(source: LocatedContent) -> Iterator[Fault]:
    """Yield a warning for each field without effect."""
    for name, message in _FIELDS.items():
        if source.content.get(name) is not None:
            yield source.fault((name,), message)
    election = source.content.get("leaderElection") or {}
    if election.get("resourceName") == KUBE_SCHEDULER_LEASE:
        message = f"is kube-scheduler's Lease; moorage uses the Lease {DEFAULT_LEASE_NAME} instead"
        yield source.fault(("leaderElection", "resourceName"), message)
    connection = source.content.get("clientConnection") or {}
    for name in _CLIENT_FIELDS:
        if connection.get(name, "") not in {"", "application/json"}:
            yield source.fault(("clientConnection", name), "has no effect; moorage uses JSON only")
    for index, profile in mappings_in(source.content.get("profiles")):
        yield from _of_profile(source, profile, ("profiles", index))


def _of_profile(source: LocatedContent, profile: Mapping[str, Any], here: Location) -> Iterator[Fault]:
    for point in _POINTS:
        if (profile.get("plugins") or {}).get(point) is not None:
            message = "has no effect; moorage does not place pod groups as a whole"
            yield source.fault((*here, "plugins", point), message)
    for index, config in mappings_in(profile.get("pluginConfig")):
        for name in _DEVICE_ARGUMENTS:
            if config.get("name") == "DynamicResources" and (config.get("args") or {}).get(name) is not None:
                location = (*here, "pluginConfig", index, "args", name)
                yield source.fault(location, "has no effect; moorage does not allocate devices")
