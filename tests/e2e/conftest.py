"""One operator a cluster, for all tests that only use it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from e2e.clusters import Cluster, real_cluster, sandbox_cluster
from processes import moorage


@pytest.fixture(scope="session", params=["sandbox", pytest.param("kube-apiserver", marks=pytest.mark.controlplane)])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with the default nodes and an operator that runs."""
    make = sandbox_cluster if request.param == "sandbox" else real_cluster
    directory = tmp_path_factory.mktemp(request.param)
    with make(directory) as cluster, moorage(cluster.kubeconfig, cluster.directory, cluster.ports):
        yield cluster
