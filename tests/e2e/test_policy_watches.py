"""Policies are live within seconds on a real API server, even if a watch of policies reports no events."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.component import Component
from e2e.case import Case, case_of
from e2e.clusters import Cluster, eventually, real_cluster
from e2e.gateway import gateway
from moorage.api.crd import render
from processes import moorage

pytestmark = [pytest.mark.slow, pytest.mark.controlplane]

LIVE_SECONDS = 20.0
"""A busy machine meets this limit. Without the feature under test, a policy would be live after minutes.

If watches stall, the operator cancels a short watch after 5 s, and lists the policies at most 1 s later.
"""
CRD = "customresourcedefinition/schedulingpolicies.scheduling.moorage.dev"


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster for this module alone, so that tests may delete its CRD."""
    with real_cluster(tmp_path_factory.mktemp("watches")) as cluster:
        yield cluster


@pytest.fixture
def policies(alone: Cluster) -> Iterator[Case]:
    with case_of(alone, "watched") as case:
        yield case


def seconds_until_live(case: Case, suffix: str = "", **spec: object) -> float:
    case.cluster.apply(case.policy(suffix, **spec))
    started = time.monotonic()
    eventually(lambda: case.is_live(suffix), 90)
    return time.monotonic() - started


def make_crd(case: Case) -> None:
    case.cluster.apply(render())
    eventually(lambda: case.cluster.kubectl("wait", "--for=condition=Established", CRD, "--timeout=30s"))


@pytest.fixture
def running(alone: Cluster, tmp_path: Path) -> Iterator[Component]:
    with moorage(alone.kubeconfig, tmp_path, alone.ports) as operator:
        yield operator


def test_a_policy_is_live_soon_after_the_crd_was_deleted_and_created_again(policies: Case, running: Component) -> None:
    policies.make_live()
    for turn in range(2):
        policies.cluster.kubectl("delete", CRD)
        make_crd(policies)
        assert seconds_until_live(policies) < LIVE_SECONDS, running.log_tail()
        assert seconds_until_live(policies, f"-{turn}") < LIVE_SECONDS, running.log_tail()


def test_a_policy_is_live_soon_after_the_crd_was_created_for_a_running_operator(alone: Cluster, tmp_path: Path) -> None:
    alone.kubectl("delete", CRD, "--ignore-not-found")
    with moorage(alone.kubeconfig, tmp_path, alone.ports) as operator, case_of(alone, "first") as case:
        make_crd(case)
        assert seconds_until_live(case) < LIVE_SECONDS, operator.log_tail()
        assert seconds_until_live(case, "-later") < LIVE_SECONDS, operator.log_tail()


def test_a_policy_is_live_soon_after_the_stored_version_changed(policies: Case, running: Component) -> None:
    policies.make_live()
    definition = policies.cluster.get(CRD)
    (version,) = definition["spec"]["versions"]
    versions = [{**version, "storage": False}, {**version, "name": "v1alpha9"}]
    policies.cluster.kubectl("patch", CRD, "--type=merge", f"--patch={json.dumps({'spec': {'versions': versions}})}")
    assert seconds_until_live(policies, paused=False) < LIVE_SECONDS, running.log_tail()
    assert seconds_until_live(policies, "-after") < LIVE_SECONDS, running.log_tail()
    policies.cluster.kubectl("delete", CRD)
    make_crd(policies)


@pytest.mark.parametrize("held", ["schedulingpolicies.*timeoutSeconds=300", "schedulingpolicies.*watch=true"])
def test_a_policy_is_live_soon_although_watches_stall_without_closing(
    policies: Case, tmp_path: Path, held: str
) -> None:
    through = tmp_path / "through.kubeconfig"
    cluster = policies.cluster
    with gateway(cluster.kubeconfig, through) as proxy, moorage(through, tmp_path, cluster.ports) as operator:
        policies.make_live("-before")
        proxy.hold(held)
        assert seconds_until_live(policies, "-held") < LIVE_SECONDS, operator.log_tail()
        proxy.heal()
        assert seconds_until_live(policies, "-healed") < LIVE_SECONDS, operator.log_tail()
