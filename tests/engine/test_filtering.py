from typing import Any

import pytest

from builders import node, pod
from moorage.cluster.node_columns import NodeColumns
from moorage.cluster.nominator import Nominator
from moorage.cluster.snapshot import Snapshot
from moorage.cluster.what_if import NodeWhatIf
from moorage.engine.cycle.filtering import filter_one, run_filters
from moorage.engine.cycle.fit_error import FitError
from moorage.engine.cycle.pre_filter import run_pre_filter
from moorage.engine.cycle.scheduling_cycle import nodes_to_filter
from moorage.framework.profile import Profile
from moorage.model.pods.pod import Pod
from moorage.plugins.upstream.inter_pod_affinity import InterPodAffinity
from moorage.plugins.upstream.node_ports import NodePorts
from moorage.plugins.upstream.node_resources_fit import NodeResourcesFit

from engine.doubles import profile  # isort: skip

TOGETHER = {
    "podAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "db"}}}
        ]
    }
}


def kube_filters() -> Profile:
    plugins: tuple[Any, ...] = (NodePorts(), NodeResourcesFit(), InterPodAffinity())
    return profile(pre_filter=plugins, filter=plugins)


def snapshot_with_nominated(*nominated: tuple[Pod, str], placed: tuple[Pod, ...] = ()) -> Snapshot:
    columns = NodeColumns()
    for name in ("n1", "n2"):
        columns.set_node(node(name, cpu="2"))
    for each in placed:
        columns.add_pod(each, each.node_name)
    nominator = Nominator()
    for each, name in nominated:
        nominator.nominate(each, name)
    return Snapshot(columns, nominator)


def fitting(each: Pod, snapshot: Snapshot) -> set[str]:
    found = run_pre_filter(kube_filters(), each, snapshot)
    filtered = run_filters(found, nodes_to_filter(found, snapshot))
    return {name for name, fits in zip(snapshot.names, filtered.feasible, strict=True) if fits}


@pytest.mark.parametrize(("priority", "expected"), [(4, {"n1", "n2"}), (5, {"n2"}), (6, {"n2"})])
def test_nominated_pod_uses_resources_if_its_priority_is_the_same_or_higher(priority: int, expected: set[str]) -> None:
    nominated = pod("nominated", cpu="2", priority=priority)
    assert fitting(pod("p", cpu="1", priority=5), snapshot_with_nominated((nominated, "n1"))) == expected


def test_pod_does_not_compete_with_its_own_nomination() -> None:
    mine = pod("p", cpu="2")
    assert fitting(mine, snapshot_with_nominated((mine, "n1"))) == {"n1", "n2"}


def test_node_is_rejected_if_the_pod_fits_only_with_the_nominated_pods() -> None:
    """The affinity of the pod needs the nominated pod. The nominated pod may never run on the node."""
    database = pod("db", labels={"app": "db"}, priority=9)
    assert fitting(pod("p", affinity=TOGETHER), snapshot_with_nominated((database, "n1"))) == set()


def test_rejection_caused_by_a_nominated_pod_names_the_plugin_and_its_reason() -> None:
    snapshot = snapshot_with_nominated((pod("nominated", cpu="2", priority=9), "n1"))
    found = run_pre_filter(kube_filters(), pod("p", cpu="1"), snapshot)
    fit_error = FitError(snapshot, found, run_filters(found, snapshot))
    assert {name: (s.plugin, s.reasons) for name, s in fit_error.statuses().items()} == {
        "n1": ("NodeResourcesFit", ("Insufficient cpu",))
    }
    assert [snapshot.names[position] for position in fit_error.potential_nodes()] == ["n1"]


def test_nomination_to_an_unknown_node_is_ignored() -> None:
    assert fitting(pod("p"), snapshot_with_nominated((pod("nominated", priority=9), "gone"))) == {"n1", "n2"}


def test_host_port_stays_in_use_if_a_nominated_and_a_placed_pod_share_it() -> None:
    """The nominated pod uses the port of its victim, which is still on the node."""
    leaving = pod("leaving", host_ports=(80,), node="n1")
    coming = pod("coming", host_ports=(80,), priority=9)
    snapshot = snapshot_with_nominated((coming, "n1"), placed=(leaving,))
    found = run_pre_filter(kube_filters(), pod("p", host_ports=(80,)), snapshot)
    what_if = NodeWhatIf(snapshot, 0)
    assert not filter_one(found, found.states, what_if).is_success
    assert not filter_one(found, found.states, what_if).is_success
    assert fitting(pod("p", host_ports=(80,)), snapshot) == {"n2"}
