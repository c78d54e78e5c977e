"""Generates parity cases from the vectors: `python generate_cases.py --seed 7 --count 1000 > cases.jsonl`.

A generated case is a vector's case with 1 to 12 random changes. The API server would refuse some of the cases. The
oracle drops these if it gets `-validate`, and writes kube-scheduler's decisions about the other cases.
"""

import argparse
import copy
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from parity.case_mutations import OBJECT_LISTS, Case, mutate
from parity.case_pools import CasePools, read_vectors
from parity.random_configs import random_config

VECTORS = Path(__file__).parent / "vectors"
CHANGE_COUNTS = (1, 1, 2, 3, 4, 6, 9, 12)
GATES = ("TaintTolerationComparisonOperators",)


def generate(seed: int, count: int, groups: str = "") -> Iterator[Case]:
    """Yield cases; equal arguments give equal cases. `groups` is a pattern for the groups of vectors to change."""
    random = Random(seed)
    pools = CasePools(read_vectors(VECTORS), random)
    vectors = [case for case in pools.cases if re.search(groups, case["id"].partition("/")[0])]
    for number in range(count):
        case: Case = dict(copy.deepcopy(random.choice(vectors)))
        group = case["id"].partition("/")[0]
        for _ in range(random.choice(CHANGE_COUNTS)):
            mutate(case, pools, random)
        if random.random() < 0.05:
            case["config"] = random_config(random)
        if random.random() < 0.03:
            case["featureGates"] = {random.choice(GATES): True}
        _make_consistent(case, random)
        case["id"] = f"{group}/{seed}-{number}"
        yield case


def _make_consistent(case: Case, random: Random) -> None:
    """Remove objects with duplicate names, and move most pods of unknown nodes to existing nodes."""
    case.pop("tags", None)
    case["nodes"] = case.get("nodes") or []
    for field in OBJECT_LISTS:
        if field in case:
            case[field] = list({_key(body): body for body in case[field]}.values())
    _clear_status(case["pod"])
    pod = _key(case["pod"])
    case["pods"] = [body for body in case.get("pods") or [] if _key(body) != pod]
    names = [node["metadata"]["name"] for node in case["nodes"]]
    for body in case["pods"]:
        node = body["spec"].get("nodeName")
        if node is not None and names and node not in names and random.random() < 0.9:
            body["spec"]["nodeName"] = random.choice(names)
        if "nodeName" not in body["spec"]:
            _clear_status(body)


def _clear_status(pod: dict[str, Any]) -> None:
    """Keep only the nominated node, because a pod without a node has no status that a kubelet writes."""
    nominated = pod.get("status", {}).get("nominatedNodeName")
    pod["status"] = {"nominatedNodeName": nominated} if nominated else {}


def _key(body: dict[str, Any]) -> tuple[str, str]:
    return body["metadata"].get("namespace") or "default", body["metadata"]["name"]


def main() -> None:
    """Write cases to standard output, one in each line."""
    parser = argparse.ArgumentParser(description="Generate parity cases from the vectors.")
    parser.add_argument("--seed", type=int, default=1, help="generate the cases from this seed")
    parser.add_argument("--count", type=int, default=1000, help="generate this number of cases")
    parser.add_argument("--groups", default="", help="start from vectors whose group matches this pattern")
    arguments = parser.parse_args()
    for case in generate(arguments.seed, arguments.count, arguments.groups):
        sys.stdout.write(f"{json.dumps({'case': case})}\n")


if __name__ == "__main__":
    main()
