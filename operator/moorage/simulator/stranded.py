"""Stranded amounts: free amounts of nodes that cannot be used, because another resource of the node is exhausted.

A node's free amount of a resource is stranded for a task if two conditions hold: the free amount is enough for the
task, but the node lacks another resource that the task requests. The stranded amount is the mean over all tasks of the
file that request the resource.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from moorage.simulator.task_file import Template

Amounts = Mapping[str, npt.NDArray[np.int64]]
"""The amounts of each node, by resource."""


def requests_of(template: Template) -> dict[str, int]:
    """Return the requests in the units of the node amounts."""
    return {"cpu": template.cpu_milli, "memory": template.memory_mib << 20, "nvidia.com/gpu": template.gpu}


def stranded_percent(
    free: Amounts, total: Mapping[str, int], templates: Sequence[tuple[Template, int]]
) -> dict[str, float]:
    """Return the stranded share by resource, in percent of the amounts of all nodes."""
    sums: dict[str, float] = dict.fromkeys(free, 0.0)
    counts: dict[str, int] = dict.fromkeys(free, 0)
    for template, count in templates:
        requests = requests_of(template)
        enough = {name: free[name] >= requests[name] for name in free}
        for name in free:
            if not requests[name]:
                continue
            others = np.logical_and.reduce([enough[other] for other in free if other != name])
            sums[name] += count * int(free[name][enough[name] & ~others].sum())
            counts[name] += count
    return {
        name: round(100 * sums[name] / counts[name] / total[name], 2) if counts[name] and total[name] else 0.0
        for name in free
    }
