"""Reads the nodes of a simulation from a file, and optionally their prices from another file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from moorage.simulator.cells import CellError, amount_of, number_of, text_of
from moorage.simulator.csv_table import open_table
from moorage.simulator.input_faults import InputFaults, refuse
from moorage.simulator.row_table import Columns, RowTable

PODS = 250
"""The number of pods that a node takes if the file does not have the column `pods`."""
MAX_NODES = 100_000
NODE_COLUMNS = Columns(
    ("name", "cpu_milli", "memory_mib"), ("gpu", "model", "pods", "zone", "instance_type", "lifecycle")
)
PRICE_COLUMNS = Columns(("price_per_hour",), ("instance_type", "model"))


class FileNode(Struct, frozen=True):
    """A node of the file."""

    name: str
    cpu_milli: int
    memory_mib: int
    gpu: int = 0
    model: str = ""
    pods: int = PODS
    zone: str = ""
    instance_type: str = ""
    lifecycle: str = ""


def read_nodes(file: Path) -> tuple[FileNode, ...]:
    """Return the nodes of a file; raise InvalidInput with all of its faults."""
    table = open_table(file, NODE_COLUMNS)
    faults = InputFaults(file)
    nodes: dict[str, FileNode] = {}
    lines: dict[str, int] = {}
    for line, cells in table.rows():
        if len(nodes) >= MAX_NODES:
            raise refuse(file, line, f"the file has more than {MAX_NODES} nodes")
        try:
            node = _node(table, cells)
        except CellError as error:
            faults.add(line, str(error))
            continue
        if node.name in nodes:
            faults.add(line, f"the name {node.name!r} is repeated; line {lines[node.name]} has it already")
        nodes[node.name], lines[node.name] = node, line
    if not nodes and not faults.faults:
        faults.add(None, "the file has no nodes")
    elif not faults.faults and not any(node.cpu_milli for node in nodes.values()):
        faults.add(None, "no node has cpu")
    faults.raise_any()
    return tuple(nodes.values())


def read_prices(file: Path, nodes: Sequence[FileNode]) -> tuple[float, ...]:
    """Return the price per hour of each node; raise InvalidInput if a node has no price."""
    table = open_table(file, PRICE_COLUMNS)
    key = next((name for name in PRICE_COLUMNS.optional if name in table.index), None)
    if key is None or all(name in table.index for name in PRICE_COLUMNS.optional):
        raise refuse(file, 1, "the header must have exactly one of the columns instance_type and model")
    prices = _price_table(table, key)
    unpriced = sorted(
        {getattr(node, key) or f"(nodes without {key})" for node in nodes if getattr(node, key) not in prices}
    )
    if unpriced:
        raise refuse(file, None, f"the file has no price for {key} {', '.join(unpriced)}")
    return tuple(prices[getattr(node, key)] for node in nodes)


def _price_table(table: RowTable, key: str) -> Mapping[str, float]:
    faults = InputFaults(table.file)
    prices: dict[str, float] = {}
    for line, cells in table.rows():
        try:
            _check_width(table, cells)
            name = text_of(cells, table.index[key])
            price = number_of("price_per_hour", text_of(cells, table.index["price_per_hour"]))
        except CellError as error:
            faults.add(line, str(error))
            continue
        if name in prices:
            faults.add(line, f"the {key} {name!r} is repeated")
        prices[name] = price
    faults.raise_any()
    return prices


def _node(table: RowTable, cells: list[str]) -> FileNode:
    _check_width(table, cells)
    index = table.index
    name = text_of(cells, index["name"])
    if not name:
        raise CellError("name is empty")
    pods = text_of(cells, index.get("pods"))
    return FileNode(
        name=name,
        cpu_milli=amount_of("cpu_milli", text_of(cells, index["cpu_milli"])),
        memory_mib=amount_of("memory_mib", text_of(cells, index["memory_mib"])),
        gpu=amount_of("gpu", text_of(cells, index["gpu"]), "; a node has whole GPUs") if "gpu" in index else 0,
        model=text_of(cells, index.get("model")),
        pods=amount_of("pods", pods) if pods else PODS,
        zone=text_of(cells, index.get("zone")),
        instance_type=text_of(cells, index.get("instance_type")),
        lifecycle=text_of(cells, index.get("lifecycle")),
    )


def _check_width(table: RowTable, cells: list[str]) -> None:
    if len(cells) != len(table.header):
        raise CellError(f"the row has {len(cells)} cells, but the header has {len(table.header)}")
