"""Types of the arrays that columns and plugins exchange."""

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
"""One flag for each node of a view."""

IntArray = npt.NDArray[np.int64]
"""One integer for each node of a view, or positions of nodes."""

IdArray = npt.NDArray[np.int32]
"""One id for each node of a view; ABSENT if the node has no value."""

ABSENT = -1
"""The id of a missing value. As an index, it selects the last entry of a table, which is the entry for missing
values."""
