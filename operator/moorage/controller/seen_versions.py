"""SeenVersions: drops events that are older than the known version of their policy.

Two watches report each event. Without this check, a late event of one watch could add a policy again after the other
watch has reported its deletion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from moorage.controller.resource_version import identity, is_newer


class SeenVersions:
    """The newest known resourceVersion of each policy, by uid."""

    def __init__(self) -> None:
        """Start without policies."""
        self._versions: dict[str, str] = {}
        self._unlisted: set[str] = set()
        """The policies that were missing in the last list. If they are missing in the next list too, they are
        forgotten."""

    def is_new(self, manifest: Mapping[str, Any]) -> bool:
        """Record an event; return whether it is newer than all earlier events of its policy."""
        uid, version = identity(manifest)
        if not is_newer(version, self._versions.get(uid, "")):
            return False
        self._versions[uid] = version
        return True

    def listed(self, manifests: Iterable[Mapping[str, Any]]) -> None:
        """Record a complete list. Forget the policies that are missing in two successive lists."""
        listed = dict(identity(manifest) for manifest in manifests)
        for uid in self._unlisted - listed.keys():
            self._versions.pop(uid, None)
        self._versions |= listed
        self._unlisted = self._versions.keys() - listed.keys()
