"""Sorting inside kernels; numba's own sorts take seconds to compile."""

import numpy as np
from numpy.typing import NDArray

from ggp.kernel import Int, kernel


@kernel
def sort_pairs(keys: NDArray[np.int64], values: NDArray[np.int64], count: Int) -> None:
    """Sort the first `count` keys in place, ascending, and the values with them (Shell 1959, gaps of Ciura 2001)."""
    gap: Int = np.int64(1)
    while gap < count:
        gap = gap * 9 // 4 + 1
    while gap > 0:
        for start in range(gap, count):
            key, value = keys[start], values[start]
            at: Int = start
            while at >= gap and keys[at - gap] > key:
                keys[at] = keys[at - gap]
                values[at] = values[at - gap]
                at -= gap
            keys[at] = key
            values[at] = value
        gap = 0 if gap == 1 else max(np.int64(1), gap * 4 // 9)
