"""Node files and price files."""

from __future__ import annotations

from pathlib import Path

import pytest

from moorage.errors import InvalidInput
from moorage.simulator.node_file import FileNode, read_nodes, read_prices
from simulator.sim_files import TWO_NODES, write


def test_optional_columns_have_defaults(tmp_path: Path) -> None:
    nodes = read_nodes(write(tmp_path, "nodes.csv", "name,cpu_milli,memory_mib,zone,pods\na,8000,1024,z1,\n"))
    assert nodes == (FileNode("a", 8000, 1024, zone="z1", pods=250),)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("name,cpu_milli,memory_mib\n", "nodes.csv: the file has no nodes"),
        ("name,cpu_milli,memory_mib\na,1,1\na,1,1\n", "nodes.csv:3: the name 'a' is repeated; line 2 has it already"),
        ("name,cpu_milli,memory_mib,gpu\na,1,1,0.5\n", "nodes.csv:2: gpu must be a whole number, not 0.5; a node has"),
        ("name,cpu_milli,memory_mib\na,0,1\n", "nodes.csv: no node has cpu"),
        ("name,cpu_milli,memory_mib\na,1\n", "nodes.csv:2: the row has 2 cells, but the header has 3"),
    ],
)
def test_faults_name_the_line(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_nodes(write(tmp_path, "nodes.csv", content))
    assert message in str(refused.value.faults[0])


def test_prices_are_by_model_or_instance_type(tmp_path: Path) -> None:
    nodes = read_nodes(write(tmp_path, "nodes.csv", TWO_NODES))
    assert read_prices(write(tmp_path, "p.csv", "model,price_per_hour\nG2,2\nT4,0.5\n"), nodes) == (0.5, 2.0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("model,price_per_hour\nT4,1\n", "p.csv: the file has no price for model G2"),
        ("model,price_per_hour\nT4,1\nG2,-1\n", "p.csv:3: price_per_hour must not be below 0"),
        ("price_per_hour\n1\n", "p.csv:1: the header must have exactly one of the columns instance_type and model"),
    ],
)
def test_wrong_prices_are_refused(tmp_path: Path, content: str, message: str) -> None:
    nodes = read_nodes(write(tmp_path, "nodes.csv", TWO_NODES))
    with pytest.raises(InvalidInput) as refused:
        read_prices(write(tmp_path, "p.csv", content), nodes)
    assert message in str(refused.value.faults[0])
