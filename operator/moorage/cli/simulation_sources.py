"""The options of `moorage simulate` and `moorage tune` that name the cluster and the pods. Opens their files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moorage.cli.dumped_cluster import dumped_cluster

if TYPE_CHECKING:
    from moorage.simulator.dump_scene import PlacedPods

NodesOption = Annotated[Path | None, typer.Option(metavar="FILE", help="Read the nodes from this CSV file.")]
NodeGroupsOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Read the nodes from this YAML file of node groups, as for `moorage sandbox`."),
]
DumpOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Read nodes and pods from this file of `moorage dump`.")
]
ClusterOption = Annotated[
    bool, typer.Option("--cluster", help="Read nodes and pods from the cluster of the kubeconfig.")
]
ArrivalsOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Place the tasks of this CSV file. With the column created_s, the tasks arrive at these times.",
    ),
]
PodsOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Place the pods of this YAML file, with --node-groups, --dump or --cluster."),
]
AllPodsOption = Annotated[
    bool,
    typer.Option(
        "--all-pods",
        help="With --dump or --cluster: place the waiting pods and, again, the running pods. Pods of DaemonSets stay "
        "where they are. Default: place only the waiting pods.",
    ),
]
PricesOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Read prices per hour, by instance_type or model, from this CSV file."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationSources:
    """The options that name the cluster and the pods."""

    nodes: Path | None = None
    node_groups: Path | None = None
    dump: Path | None = None
    cluster: bool = False
    arrivals: Path | None = None
    pods: Path | None = None
    all_pods: bool = False
    kubeconfig: Path | None = None
    context: str | None = None

    def check(self) -> None:
        """Raise BadParameter unless the options name one cluster, and at most one source of pods."""
        clusters = sum(each is not None for each in (self.nodes, self.node_groups, self.dump)) + self.cluster
        pods = sum(each is not None for each in (self.arrivals, self.pods)) + self.all_pods
        if clusters != 1:
            raise typer.BadParameter("pass one of --nodes, --node-groups, --dump and --cluster")
        if pods > 1:
            raise typer.BadParameter("pass at most one of --arrivals, --pods and --all-pods")
        if self.nodes and not self.arrivals:
            raise typer.BadParameter("--nodes needs --arrivals")
        if self.node_groups and not (self.arrivals or self.pods):
            raise typer.BadParameter("--node-groups needs --arrivals or --pods")


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """The files of a simulation."""

    nodes: Path
    tasks: Path
    placed_pods: PlacedPods | None
    """Which pods of the file `nodes` the simulation places; None if the file is a table."""


@contextmanager
def source_files(sources: SimulationSources) -> Iterator[SourceFiles]:
    """Yield the files of a simulation. Remove temporary files when the block ends."""
    from moorage.simulator.dump_scene import PlacedPods

    sources.check()
    if sources.nodes:
        assert sources.arrivals, "--nodes needs --arrivals"
        yield SourceFiles(sources.nodes, sources.arrivals, None)
        return
    with _dump(sources) as dump:
        if sources.arrivals:
            yield SourceFiles(dump, sources.arrivals, PlacedPods.NONE)
        else:
            yield SourceFiles(dump, sources.pods or dump, PlacedPods.ALL if sources.all_pods else PlacedPods.WAITING)


@contextmanager
def _dump(sources: SimulationSources) -> Iterator[Path]:
    from moorage.cli.described_cluster import of_dump, of_node_groups, with_pods
    from moorage.inventory import write_dump

    listed = dumped_cluster(sources.kubeconfig, sources.context) if sources.cluster else nullcontext(sources.dump)
    with listed as dump, tempfile.TemporaryDirectory(prefix="moorage-") as folder:
        if dump and not sources.pods:
            yield dump
            return
        if sources.node_groups:
            name, cluster = sources.node_groups.name, of_node_groups(sources.node_groups)
        else:
            assert dump, "a cluster was given"
            name, cluster = dump.name, of_dump(dump)
        made = Path(folder) / name
        write_dump(with_pods(cluster, sources.pods), made)
        yield made
