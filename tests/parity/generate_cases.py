"""Makes new parity cases out of the vectors: `python generate_cases.py --seed 7 --count 1000 > cases.jsonl`.

A case starts as one of the vectors and is changed one to a dozen times. Not all are valid for the API server: the
oracle's `-validate` drops the others, and says what kube-scheduler decides for the rest.
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
CHANGES_OF_A_CASE = (1, 1, 2, 3, 4, 6, 9, 12)
GATES = ("TaintTolerationComparisonOperators",)


def generate(seed: int, count: int, groups: str = "") -> Iterator[Case]:
    """Yield cases that depend on the seed alone; `groups` is a pattern of the groups that they begin as."""
    random = Random(seed)
    pools = CasePools(read_vectors(VECTORS), random)
    beginnings = [case for case in pools.cases if re.search(groups, case["id"].partition("/")[0])]
    for number in range(count):
        case: Case = dict(copy.deepcopy(random.choice(beginnings)))
        group = case["id"].partition("/")[0]
        for _ in range(random.choice(CHANGES_OF_A_CASE)):
            mutate(case, pools, random)
        if random.random() < 0.05:
            case["config"] = random_config(random)
        if random.random() < 0.03:
            case["featureGates"] = {random.choice(GATES): True}
        _settle(case, random)
        case["id"] = f"{group}/{seed}-{number}"
        yield case


def _settle(case: Case, random: Random) -> None:
    """Give every object a name of its own, and most pods of a foreign cluster a node of this one."""
    case.pop("tags", None)
    case["nodes"] = case.get("nodes") or []
    for field in OBJECT_LISTS:
        if field in case:
            case[field] = list({_key(body): body for body in case[field]}.values())
    _unstart(case["pod"])
    pod = _key(case["pod"])
    case["pods"] = [body for body in case.get("pods") or [] if _key(body) != pod]
    names = [node["metadata"]["name"] for node in case["nodes"]]
    for body in case["pods"]:
        node = body["spec"].get("nodeName")
        if node is not None and names and node not in names and random.random() < 0.9:
            body["spec"]["nodeName"] = random.choice(names)
        if "nodeName" not in body["spec"]:
            _unstart(body)


def _unstart(pod: dict[str, Any]) -> None:
    """Take away what only a kubelet writes: a pod without a node has none of it."""
    nominated = pod.get("status", {}).get("nominatedNodeName")
    pod["status"] = {"nominatedNodeName": nominated} if nominated else {}


def _key(body: dict[str, Any]) -> tuple[str, str]:
    return body["metadata"].get("namespace") or "default", body["metadata"]["name"]


def main() -> None:
    """Write cases to standard output, one a line."""
    parser = argparse.ArgumentParser(description="Make new parity cases out of the vectors.")
    parser.add_argument("--seed", type=int, default=1, help="the same cases for the same seed")
    parser.add_argument("--count", type=int, default=1000, help="how many cases to make")
    parser.add_argument("--groups", default="", help="a pattern of the vectors' groups to begin with")
    arguments = parser.parse_args()
    for case in generate(arguments.seed, arguments.count, arguments.groups):
        sys.stdout.write(f"{json.dumps({'case': case})}\n")


if __name__ == "__main__":
    main()
