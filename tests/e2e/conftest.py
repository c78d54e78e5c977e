"""Fixtures: cases, and clusters with one operator that tests share. A test that stops an operator starts its own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from controlplane.component import Component
from e2e.audited import REPLICAS, Audited, audited_cluster
from e2e.case import Case, case_of
from e2e.clusters import Cluster, real_cluster, sandbox_cluster
from e2e.faults import World, in_world
from processes import moorage


@pytest.fixture(scope="session", params=["sandbox", pytest.param("kube-apiserver", marks=pytest.mark.controlplane)])
def nodes_only(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with the default nodes and no operator."""
    make = sandbox_cluster if request.param == "sandbox" else real_cluster
    with make(tmp_path_factory.mktemp(request.param)) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def operator(nodes_only: Cluster) -> Iterator[Component]:
    """The shared operator of the cluster."""
    with moorage(nodes_only.kubeconfig, nodes_only.directory, nodes_only.ports) as operator:
        yield operator


@pytest.fixture(scope="session")
def cluster(nodes_only: Cluster, operator: Component) -> Cluster:
    """A cluster with the default nodes and a running operator."""
    assert operator.running
    return nodes_only


@pytest.fixture(scope="session")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audited]:
    """A real cluster with the default nodes, an audit log and no operator."""
    with audited_cluster(tmp_path_factory.mktemp("audited")) as audited:
        yield audited


@pytest.fixture(scope="module")
def audited_operator(audited: Audited) -> Iterator[Audited]:
    """The audited cluster with an operator, which runs as the first replica's user."""
    cluster, kubeconfig = audited.cluster, audited.control_plane.kubeconfig_of(REPLICAS[0])
    with moorage(kubeconfig, cluster.directory, cluster.ports, "--allow-default-scheduler", name="operator"):
        yield audited


@pytest.fixture
def case_with_operator(audited_operator: Audited, case_numbers: Iterator[int]) -> Iterator[Case]:
    """The objects of one test in the audited cluster with an operator."""
    with case_of(audited_operator.cluster, f"case-{next(case_numbers)}") as case:
        yield case


@pytest.fixture(scope="session")
def case_numbers() -> Iterator[int]:
    """Numbers that make the names of cases unique."""
    return count(1)


@pytest.fixture
def case(cluster: Cluster, case_numbers: Iterator[int]) -> Iterator[Case]:
    """The objects of one test."""
    with case_of(cluster, f"case-{next(case_numbers)}") as case:
        yield case


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """An embedded API server for this test alone, which can inject faults."""
    with in_world(tmp_path) as world:
        yield world
