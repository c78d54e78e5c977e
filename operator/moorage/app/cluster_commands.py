"""Reads clusters for commands: from an API server, or from a dump file."""

from __future__ import annotations

from random import Random, SystemRandom
from typing import TYPE_CHECKING

from moorage.app.command_client import open_command_client
from moorage.runtime.client.kube import KubeClient
from moorage.runtime.clock import Clock
from moorage.runtime.cluster_listing import ClusterListing, ListingProgress

if TYPE_CHECKING:
    from moorage.inventory import Inventory
    from moorage.settings import Settings


async def list_cluster(settings: Settings, progress: ListingProgress) -> Inventory:
    """List the cluster that the settings name; see `ClusterListing.run`."""
    clock = Clock()
    async with open_command_client(settings, clock) as client:
        return await list_through(client, clock, progress)


async def list_through(client: KubeClient, clock: Clock, progress: ListingProgress) -> Inventory:
    """List the cluster of a client that is already open."""
    random = Random(SystemRandom().random())  # noqa: S311 - jitter
    return await ClusterListing(client, random, clock, progress).run()
