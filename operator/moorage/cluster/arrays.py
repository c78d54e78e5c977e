"""Names for the arrays that plugins and columns exchange."""

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
"""One flag a node of the view."""

IntArray = npt.NDArray[np.int64]
"""One whole number a node of the view, or positions of nodes."""

IdArray = npt.NDArray[np.int32]
"""One interned id a node of the view; ABSENT where the node has no value."""

ABSENT = -1
