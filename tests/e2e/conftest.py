"""One operator a cluster, for all tests that only use it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from controlplane.component import Component
from e2e.audited import REPLICAS, Audited, audited_cluster
from e2e.case import Case, case_of
from e2e.clusters import Cluster, real_cluster, sandbox_cluster
from processes import moorage


@pytest.fixture(scope="session", params=["sandbox", pytest.param("kube-apiserver", marks=pytest.mark.controlplane)])
def nodes_only(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with the default nodes."""
    make = sandbox_cluster if request.param == "sandbox" else real_cluster
    with make(tmp_path_factory.mktemp(request.param)) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def operator(nodes_only: Cluster) -> Iterator[Component]:
    """The operator that runs in the cluster."""
    with moorage(nodes_only.kubeconfig, nodes_only.directory, nodes_only.ports) as operator:
        yield operator


@pytest.fixture(scope="session")
def cluster(nodes_only: Cluster, operator: Component) -> Cluster:
    """A cluster with the default nodes and an operator that runs."""
    assert operator.running
    return nodes_only


@pytest.fixture(scope="session")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audited]:
    """A real cluster with the default nodes, an audit log, and no operator but those that a test starts."""
    with audited_cluster(tmp_path_factory.mktemp("audited")) as audited:
        yield audited


@pytest.fixture(scope="module")
def attended(audited: Audited) -> Iterator[Audited]:
    """The same with an operator, the first of the replicas."""
    cluster, kubeconfig = audited.cluster, audited.control_plane.kubeconfig_of(REPLICAS[0])
    with moorage(kubeconfig, cluster.directory, cluster.ports, name="attendant"):
        yield audited


@pytest.fixture
def attended_case(attended: Audited, case_numbers: Iterator[int]) -> Iterator[Case]:
    """Objects of a test's own there."""
    with case_of(attended.cluster, f"case-{next(case_numbers)}") as case:
        yield case


@pytest.fixture(scope="session")
def case_numbers() -> Iterator[int]:
    """Numbers that tell the cases of a run apart."""
    return count(1)


@pytest.fixture
def case(cluster: Cluster, case_numbers: Iterator[int]) -> Iterator[Case]:
    """Objects of a test's own."""
    with case_of(cluster, f"case-{next(case_numbers)}") as case:
        yield case
