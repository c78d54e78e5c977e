from __future__ import annotations

from pathlib import Path

import pytest

from docs.shell_blocks import blocks
from moorage.sandbox.simulation.node_groups import DEFAULT_NODES, EXAMPLE, NodeGroupsError, load_node_groups

GPU_GROUP = """
nodeGroups:
  - name: train
    count: 3
    instanceType: p5.48xlarge
    zones: [us-east-1a, us-east-1b]
    lifecycle: spot
    cpu: "192"
    memory: 2048Gi
    gpus: {count: 8, product: NVIDIA-H100-80GB-HBM3}
    labels: {team: ml}
    taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
    images: [{name: "app:1", sizeBytes: 100}]
"""


def test_each_node_of_a_group_is_in_the_next_zone() -> None:
    [group] = load_node_groups(GPU_GROUP)
    nodes = list(group.nodes())
    zones = [node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in nodes]
    assert zones == ["us-east-1a", "us-east-1b", "us-east-1a"]
    assert len({node["metadata"]["name"] for node in nodes}) == 3


def test_node_has_the_properties_of_its_group() -> None:
    [group] = load_node_groups(GPU_GROUP)
    node = next(group.nodes())
    labels = node["metadata"]["labels"]
    assert labels["node.kubernetes.io/instance-type"] == "p5.48xlarge"
    assert labels["eks.amazonaws.com/capacityType"] == "SPOT"
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-H100-80GB-HBM3"
    assert labels["team"] == "ml"
    assert node["spec"]["taints"] == [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "8"
    assert node["status"]["images"] == [{"names": ["app:1"], "sizeBytes": 100}]


def test_amounts_can_be_numbers() -> None:
    text = EXAMPLE.replace('"4"', "4")
    assert load_node_groups(text) == load_node_groups(EXAMPLE) != []


def test_allocatable_adds_and_replaces_amounts() -> None:
    [group] = load_node_groups(GPU_GROUP + "    allocatable: {memory: 1Gi, example.com/disk: 2}\n")
    amounts = next(group.nodes())["status"]["allocatable"]
    assert amounts.items() >= {"memory": "1Gi", "example.com/disk": "2", "nvidia.com/gpu": "8"}.items()


def test_system_reserves_a_part_of_a_node() -> None:
    text = 'nodeGroups: \n- {name: a, count: 1, instanceType: m5.xlarge, cpu: "4", memory: 16Gi, pods: 58}'
    [group] = load_node_groups(text)
    status = next(group.nodes())["status"]
    assert status["capacity"]["cpu"] == "4"
    assert status["allocatable"] == {"cpu": "3920m", "memory": "15391Mi", "pods": "58", "ephemeral-storage": "80Gi"}


def test_default_cluster_has_all_zones_and_capacity_types() -> None:
    nodes = [node for group in load_node_groups() for node in group.nodes()]
    labels = [node["metadata"]["labels"] for node in nodes]
    assert len(nodes) == 40
    assert {label["topology.kubernetes.io/zone"] for label in labels} == {"us-east-1a", "us-east-1b", "us-east-1c"}
    assert {"SPOT", "ON_DEMAND", "CAPACITY_BLOCK"} <= {label.get("eks.amazonaws.com/capacityType") for label in labels}
    assert sum(label.get("eks.amazonaws.com/compute-type") == "fargate" for label in labels) == 2
    assert load_node_groups(DEFAULT_NODES) == load_node_groups()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nodeGroups:\n  - {name: a}", "nodeGroups.0.count: Field required"),
        ("nodeGroups: []\ngroups: []", "groups: Extra inputs are not permitted"),
        ("nodeGroups:\n\t- x", "the node groups: invalid YAML"),
        ("[]\n", "the node groups: the key `nodeGroups` is missing; a file of node groups looks like this"),
        (GPU_GROUP.replace("spot", "cheap"), "nodeGroups.0.lifecycle"),
        (GPU_GROUP.replace('"192"', "lots"), "nodeGroups.0.cpu: Value error, 'lots' is not a quantity"),
    ],
)
def test_invalid_file_is_refused_with_the_path_of_the_field(text: str, message: str) -> None:
    with pytest.raises(NodeGroupsError, match=message):
        load_node_groups(text)


def test_error_names_the_file_and_shows_an_example(tmp_path: Path) -> None:
    file = tmp_path / "nodes.yaml"
    file.write_text("nodeGroups: [{name: a}]")
    with pytest.raises(NodeGroupsError) as refused:
        load_node_groups(file)
    assert str(refused.value).startswith(f"{file}:\n  nodeGroups.0.count: Field required\n")
    assert str(refused.value).endswith(EXAMPLE)
    assert [group.count for group in load_node_groups(EXAMPLE)] == [6]


def test_first_group_of_the_documentation_has_spot_nodes_without_taints() -> None:
    (text,) = [block.text for block in blocks("docs/sandbox.md") if block.language == "yaml"]
    spot, gpu = load_node_groups(text)
    assert (spot.name, spot.lifecycle, spot.taints) == ("spot", "spot", ())
    assert gpu.gpus
    assert gpu.taints


def test_load_accepts_a_path_or_a_text(tmp_path: Path) -> None:
    file = tmp_path / "nodes.yaml"
    file.write_text(GPU_GROUP)
    assert load_node_groups(str(file)) == load_node_groups(file) == load_node_groups(GPU_GROUP)
