"""Types of the arrays that columns and plugins exchange."""

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
"""One flag for each node of a view."""

IntArray = npt.NDArray[np.int64]
"""One integer for each node of a view, or a list of positions of nodes in a view."""

IdArray = npt.NDArray[np.int32]
"""One id for each node of a view; ABSENT if the node has no value."""

ABSENT = -1
"""The id of a missing value. In a table by id, the last entry is for nodes without a value: `table[-1]` selects it."""
