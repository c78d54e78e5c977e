"""A listing of a real API server keeps every field that scheduling reads, over several pages."""

from __future__ import annotations

from pathlib import Path
from random import Random

import msgspec
import pytest

from controlplane.launcher import ControlPlane
from controlplane.objects import NODES, PODS, api_session, create_nodes, create_objects, pause_pod, simulated_nodes
from fakes import Client
from inventory.listings import RecordedProgress
from moorage.inventory import cluster_events, read_dump, write_dump
from moorage.model.decode import Decoder
from moorage.runtime.clock import Clock
from moorage.runtime.cluster_listing import ClusterListing

pytestmark = pytest.mark.controlplane


async def test_dump_decodes_to_the_objects_of_the_api_server(empty_control_plane: ControlPlane, tmp_path: Path) -> None:
    plane, progress, decoder = empty_control_plane, RecordedProgress(), Decoder()
    await create_nodes(plane, simulated_nodes(7))
    await create_objects(plane, PODS, [pause_pod(f"p{index}") for index in range(5)])
    async with Client(plane.server, plane.token, plane.ca_file) as client:
        found = await ClusterListing(client, Random(1), Clock(), progress, page_size=2).run()
    async with api_session(plane) as session:
        pods = (await (await session.get(PODS)).json())["items"]
        nodes = (await (await session.get(NODES)).json())["items"]

    write_dump(found, tmp_path / "dump.gz")
    events = list(cluster_events(read_dump(tmp_path / "dump.gz"), decoder))

    kept = {event.new.name: event.new for event in events if event.kind == "Pod"}
    assert len(kept) == 5
    for body in pods:
        whole = decoder.decode_object("Pod", body)
        assert msgspec.structs.asdict(kept[whole.name]) == msgspec.structs.asdict(whole)
    assert [event.new.name for event in events if event.kind == "Node"] == sorted(
        body["metadata"]["name"] for body in nodes
    )
    assert found.api_server.startswith("v1.")
    assert progress.counts["Node"] == 7
