"""Random changes of a case: swap, add, drop and copy parts, or mix two cases. A change may change the decision."""

import copy
from collections.abc import Callable
from random import Random
from typing import Any

from parity.case_pools import ELEMENT, CasePools, Place, Spot, parts

Case = dict[str, Any]
OBJECT_LISTS = (
    "nodes",
    "pods",
    "pvs",
    "pvcs",
    "storageClasses",
    "csinodes",
    "csidrivers",
    "csiStorageCapacities",
    "volumeAttachments",
    "services",
    "replicationControllers",
    "replicaSets",
    "statefulSets",
    "namespaces",
    "pdbs",
)
ASPECTS = (("nodes",), ("pods", "namespaces"), ("pod",), ("config",), ("pdbs",), ("services",))
STORAGE = ("pvs", "pvcs", "storageClasses", "csinodes", "csidrivers", "csiStorageCapacities", "volumeAttachments")
IDENTITY = frozenset({"metadata", "name", "namespace", "spec", "containers", "uid", "nodeName", "volumeBindingMode"})
"""Keys that random changes must not drop or swap.

Such a change would make the case invalid, rename an object, or remove a default."""
NUMBERS = (-1, 0, 1, 2, 3, 5, 7, 10, 50, 99, 100, 101, 1000, 2**31 - 1)
CPU = ("0", "1m", "99m", "100m", "101m", "0.1", "333m", "1", "1500m", "2", "3.92", "4", "8", "16", "64", "1k", "0.0005")
MEMORY = (
    "0",
    "1",
    "1Ki",
    "64Mi",
    "199Mi",
    "200Mi",
    "201Mi",
    "256Mi",
    "1.5Gi",
    "1e9",
    "3G",
    "8Gi",
    "128974848000m",
    "1Ti",
)
COUNTS = ("0", "1", "2", "3", "5", "10", "110")
QUANTITIES = {"cpu": CPU, "memory": MEMORY, "ephemeral-storage": MEMORY, "storage": MEMORY, "pods": COUNTS}


def mutate(case: Case, pools: CasePools, random: Random) -> None:
    """Apply one random change in place."""
    change = random.choices(CHANGES, weights=CHANGE_WEIGHTS)[0]
    change(case, pools, random)


def swap_part(case: Case, pools: CasePools, random: Random) -> None:
    """Replace a part with a value that a vector has at the same place."""
    spot = _random_spot(case, random)
    if spot is not None:
        spot.holder[spot.key] = pools.sample(spot.place, random)


def add_part(case: Case, pools: CasePools, random: Random) -> None:
    """Add a key that an object at this place can have, or add an element to a list."""
    body, place = _random_body(case, random)
    if place is None:
        return
    if isinstance(body, dict):
        missing = [key for key in pools.keys[place] if key not in body]
        if missing:
            key = random.choice(missing)
            body[key] = pools.sample((*place, key), random)
    elif isinstance(body, list) and pools.has((*place, ELEMENT)):
        body.append(pools.sample((*place, ELEMENT), random))


def drop_part(case: Case, _pools: CasePools, random: Random) -> None:
    """Remove a key or an element.

    Keeps operators, because validation accepts some objects without an operator. Keeps the last element of a list,
    because the API server treats empty and absent lists alike.
    """
    spot = _random_spot(case, random, lambda spot: spot.key != "operator")
    if spot is not None and not (isinstance(spot.holder, list) and len(spot.holder) == 1):
        del spot.holder[spot.key]


def novel_value(case: Case, _pools: CasePools, random: Random) -> None:
    """Replace a value by a number or a quantity that may not be in the vectors."""
    spot = _random_spot(case, random, lambda spot: not isinstance(spot.part, dict | list))
    if spot is None:
        return
    if spot.key in QUANTITIES:
        spot.holder[spot.key] = random.choice(QUANTITIES[spot.key])
    elif isinstance(spot.part, bool):
        spot.holder[spot.key] = not spot.part
    elif isinstance(spot.part, int):
        spot.holder[spot.key] = random.choice(NUMBERS)


def double_object(case: Case, _pools: CasePools, random: Random) -> None:
    """Add a copy of a node or pod under another name, to cause equal scores, larger sums and conflicts."""
    field = random.choice(["nodes", "pods", "pods"])
    if case.get(field):
        twin = copy.deepcopy(random.choice(case[field]))
        twin["metadata"]["name"] = f"{twin['metadata']['name']}-{random.randrange(1000)}"
        twin["metadata"].pop("uid", None)
        case[field].append(twin)


def drop_object(case: Case, _pools: CasePools, random: Random) -> None:
    """Remove an object."""
    fields = [field for field in OBJECT_LISTS if case.get(field)]
    if fields:
        bodies = case[random.choice(fields)]
        del bodies[random.randrange(len(bodies))]


def move_pod(case: Case, _pools: CasePools, random: Random) -> None:
    """Move a pod to another node, unbind it, or give it a nominated node."""
    pods, names = case.get("pods") or [], _node_names(case)
    if not pods or not names:
        return
    pod = random.choice(pods)
    pod["spec"].pop("nodeName", None)
    choice = random.random()
    if choice < 0.7:
        pod["spec"]["nodeName"] = random.choice(names)
    elif choice < 0.95:
        pod.setdefault("status", {})["nominatedNodeName"] = random.choice(names)


def nominate(case: Case, _pools: CasePools, random: Random) -> None:
    """Give the scheduled pod a nominated node."""
    names = _node_names(case)
    if names:
        case["pod"].setdefault("status", {})["nominatedNodeName"] = random.choice([*names, "gone"])


def mix(case: Case, pools: CasePools, random: Random) -> None:
    """Copy one aspect of another case: its nodes, pods, storage, scheduled pod, configuration, budgets or services."""
    other = copy.deepcopy(random.choice(pools.cases))
    fields = random.choice(
        [("nodes",), ("pods", "namespaces"), ("pod",), ("config",), STORAGE, ("pdbs",), ("services",)]
    )
    for field in fields:
        if field in other:
            case[field] = other[field]
    if fields == STORAGE and "volumes" in other["pod"]["spec"]:
        case["pod"]["spec"]["volumes"] = other["pod"]["spec"]["volumes"]


def merge_pods(case: Case, pools: CasePools, random: Random) -> None:
    """Copy a field of another pod's spec, and sometimes its labels, to the scheduled pod."""
    other = copy.deepcopy(random.choice(pools.cases)["pod"])
    keys = [key for key in other["spec"] if key not in IDENTITY]
    if keys:
        key = random.choice(keys)
        case["pod"]["spec"][key] = other["spec"][key]
    if random.random() < 0.3 and "labels" in other["metadata"]:
        case["pod"]["metadata"]["labels"] = other["metadata"]["labels"]


def tighten(case: Case, _pools: CasePools, random: Random) -> None:
    """Raise the pod's requests and priority, to cause preemption."""
    if not case["pod"]["spec"]["containers"]:
        return
    resources = case["pod"]["spec"]["containers"][0].setdefault("resources", {})
    resources["requests"] = {
        **resources.get("requests", {}),
        "cpu": random.choice(CPU),
        "memory": random.choice(MEMORY),
    }
    case["pod"]["spec"]["priority"] = random.choice([0, 10, 100, 1000, 2000])


Change = Callable[[Case, CasePools, Random], None]
CHANGES: tuple[Change, ...] = (
    swap_part,
    add_part,
    drop_part,
    novel_value,
    double_object,
    drop_object,
    move_pod,
    nominate,
    mix,
    merge_pods,
    tighten,
)
CHANGE_WEIGHTS = (8, 8, 4, 5, 2, 1, 2, 0.4, 3, 3, 0.7)


def _node_names(case: Case) -> list[str]:
    return [node["metadata"]["name"] for node in case.get("nodes") or []]


def _random_object(case: Case, random: Random) -> tuple[Any, Place]:
    """Return a random object; in half of the calls the scheduled pod, because its fields affect the decision most."""
    fields = [field for field in (*OBJECT_LISTS, "config") if case.get(field)]
    if not fields or random.random() < 0.5:
        return case["pod"], ("pods", ELEMENT)
    field = random.choice(fields)
    if field == "config":
        return case["config"], ("config",)
    return random.choice(case[field]), (field, ELEMENT)


def _random_spot(case: Case, random: Random, suits: Callable[[Spot], bool] = lambda _: True) -> Spot | None:
    body, place = _random_object(case, random)
    found = [spot for spot in parts(body, place) if spot.key not in IDENTITY and suits(spot)]
    return random.choice(found) if found else None


def _random_body(case: Case, random: Random) -> tuple[Any, Place]:
    """Return a random object, or a random mapping or list in the object, and its place."""
    body, place = _random_object(case, random)
    inner = [(spot.part, spot.place) for spot in parts(body, place) if isinstance(spot.part, dict | list)]
    return random.choice([(body, place), *inner])
