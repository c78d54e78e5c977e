"""A policy in mode Shadow beside a real kube-scheduler: it binds no pod, and each difference has a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from controlplane.launcher import ControlPlane
from e2e.case import case_of
from e2e.clusters import eventually, real_cluster
from processes import moorage

pytestmark = [pytest.mark.slow, pytest.mark.controlplane]

PODS = 60


def test_a_shadow_agrees_with_a_real_kube_scheduler_except_by_ties(tmp_path: Path) -> None:
    control_plane = ControlPlane()
    with (
        real_cluster(tmp_path, control_plane) as cluster,
        control_plane.start_scheduler(),
        moorage(control_plane.kubeconfig, tmp_path, cluster.ports),
        case_of(cluster, "shadow") as case,
    ):
        case.make_live(mode="Shadow", shadowOf="default-scheduler", percentageOfNodesToScore=100)
        conditions = case.policy_conditions()
        assert (conditions["Programmed"]["status"], conditions["Programmed"]["reason"]) == ("True", "Shadow")
        for number in range(PODS):
            pod = case.pod(f"p{number}", requests={"cpu": "100m", "memory": f"{100 + number}Mi"})
            pod["spec"]["schedulerName"] = "default-scheduler"
            cluster.apply(pod)
            case.wait_until_bound(f"p{number}")
        eventually(lambda: _all_compared(case.get_policy()["status"]))
        shadow = case.get_policy()["status"]["shadow"]
        assert shadow["same"] + shadow["tie"] == PODS, shadow
        assert case.get_policy()["status"]["pods"]["bound"] == 0


def _all_compared(status: dict[str, dict[str, int]]) -> None:
    counts = status.get("shadow", {})
    assert sum(value for name, value in counts.items() if name in {"same", "tie", "otherNode", "fitsNowhere"}) == PODS
