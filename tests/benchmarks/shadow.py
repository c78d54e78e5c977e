"""Compares a policy in mode Shadow with a real kube-scheduler: many pods of random sizes, one after the other.

Run it with `python tests/benchmarks/shadow.py`. It needs the binaries of `make controlplane`. It prints the numbers of
equal and different decisions, and each difference that is not a tie.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1]))

from rich.console import Console
from rich.progress import track

from controlplane.launcher import ControlPlane
from e2e.case import Case, case_of
from e2e.clusters import Manifest, eventually, real_cluster
from moorage.sandbox.simulation.node_groups import load_node_groups
from processes import moorage

console = Console(stderr=True, highlight=False)
COMPARED = ("same", "tie", "otherNode", "fitsNowhere", "fits", "failed", "skipped")
"""The fields of `status.shadow` that count pods."""


def main() -> None:
    """Parse the arguments, run the comparison, and print the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pods", type=int, default=1000, help="number of pods")
    parser.add_argument("--seed", type=int, default=7, help="seed of the sizes and zones of the pods")
    arguments = parser.parse_args()
    control_plane = ControlPlane()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (
            real_cluster(folder, control_plane) as cluster,
            control_plane.start_scheduler(),
            moorage(control_plane.kubeconfig, folder, cluster.ports, "--log-level=debug") as operator,
            case_of(cluster, "shadow") as case,
        ):
            case.make_live(mode="Shadow", shadowOf="default-scheduler", percentageOfNodesToScore=100)
            random = Random(arguments.seed)
            for number in track(range(arguments.pods), "pods", console=console):
                cluster.apply(_pod(case, number, random))
                case.wait_until_bound(f"p{number}")
            eventually(lambda: sum(_counts(case).values()) >= arguments.pods)
            print(", ".join(f"{name}: {count}" for name, count in _counts(case).items() if count))
            for line in operator.log.read_text(encoding="utf-8").splitlines():
                if "Shadow shadow: " in line and "both nodes have the score" not in line:
                    print(line.partition("Shadow shadow: ")[2])


def _pod(case: Case, number: int, random: Random) -> Manifest:
    requests = {"cpu": f"{random.choice((25, 50, 100, 150))}m", "memory": f"{random.choice((64, 128, 256, 512))}Mi"}
    pod = case.pod(f"p{number}", requests=requests)
    pod["spec"]["schedulerName"] = "default-scheduler"
    if random.random() < 0.2:
        zones = sorted({zone for group in load_node_groups() for zone in group.zones})
        pod["spec"]["nodeSelector"] = {"topology.kubernetes.io/zone": random.choice(zones)}
    return pod


def _counts(case: Case) -> dict[str, int]:
    counts = case.get_policy()["status"].get("shadow", {})
    return {name: counts.get(name, 0) for name in COMPARED}


if __name__ == "__main__":
    main()
