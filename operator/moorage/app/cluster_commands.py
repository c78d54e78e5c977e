"""Lists the cluster of a kubeconfig for a command."""

from __future__ import annotations

from random import Random, SystemRandom
from typing import TYPE_CHECKING

from moorage.app.command_client import open_command_client
from moorage.inventory import KINDS
from moorage.runtime.clock import Clock
from moorage.runtime.cluster_listing import ClusterListing, ListingProgress

if TYPE_CHECKING:
    from collections.abc import Collection

    from moorage.inventory import Inventory
    from moorage.settings import Settings


async def list_cluster(
    settings: Settings, progress: ListingProgress, kinds: Collection[str] = tuple(KINDS)
) -> Inventory:
    """List some or all kinds of the cluster that the settings name; see `ClusterListing.run`."""
    clock = Clock()
    random = Random(SystemRandom().random())  # noqa: S311 - jitter
    async with open_command_client(settings, clock) as client:
        return await ClusterListing(client, random, clock, progress, kinds).run()
