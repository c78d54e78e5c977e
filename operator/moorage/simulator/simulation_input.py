"""The input of a simulation: the request, and the content of its files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from moorage.errors import Fault, InvalidInput
from moorage.simulator.dump_scene import DumpScene, PlacedPods, read_scene
from moorage.simulator.node_file import read_nodes, read_prices
from moorage.simulator.run_measures import Measured
from moorage.simulator.task_file import TaskFile

Progress = Callable[[str, int, int], None]
"""Shows a step, the number of tasks that are done, and the number of all tasks; 0 means that the number of all tasks is
not known."""


class Request(Struct, frozen=True, kw_only=True):
    """The files and options of a simulation."""

    nodes: Path
    """A table of nodes, or a dump."""
    tasks: Path
    """A table of tasks. If pods of the dump are placed, the path is only the name of their source."""
    policies: tuple[Path, ...]
    placed_pods: PlacedPods | None = None
    """The pods of the dump to place. None means that `nodes` is a table."""
    prices: Path | None = None
    seed: int = 0
    arrival_seed: int | None = None
    """The seed of a random order in which the pods of a dump arrive. None means the usual order."""
    percentage_of_nodes_to_score: int = 100
    keeps_placements: bool = False

    @property
    def has_task_table(self) -> bool:
        """Whether the tasks are rows of a table, and not pods of a dump."""
        return self.placed_pods in {None, PlacedPods.NONE}


class SimulationInput(Struct, frozen=True):
    """The content of the files, except the tasks. Each run reads the tasks again."""

    measured: Measured
    scene: DumpScene | None
    """The content of the dump; None if there is no dump."""


def read_input(request: Request, progress: Progress = lambda *_: None) -> SimulationInput:
    """Read the files. Raise InvalidInput with the faults of all files."""
    faults: list[Fault] = []
    scene = None
    with collecting(faults):
        scene = read_scene(request.nodes, request.placed_pods) if request.placed_pods else None
        nodes = scene.nodes if scene else read_nodes(request.nodes)
        prices = read_prices(request.prices, nodes) if request.prices else ()
    with collecting(faults):
        if request.has_task_table:
            tasks = TaskFile(request.tasks).check(lambda count: progress("checking the tasks", count, 0))
            if scene:
                tasks = scene.with_priorities(tasks)
        elif scene:
            tasks = scene.summary()
    if faults:
        raise InvalidInput(faults)
    return SimulationInput(Measured(nodes, tasks, prices, request.keeps_placements), scene)


def input_of(request: Request, measured: Measured) -> SimulationInput:
    """Return the input of files that another process has read. Only the dump is read again."""
    return SimulationInput(measured, read_scene(request.nodes, request.placed_pods) if request.placed_pods else None)


@contextmanager
def collecting(faults: list[Fault]) -> Iterator[None]:
    """Add the faults of a file to a list instead of raising them."""
    try:
        yield
    except InvalidInput as error:
        faults += error.faults
    except OSError as error:
        faults.append(Fault((), None, f"{error.filename}: {error.strerror}"))
