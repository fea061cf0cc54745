"""Nets in tests."""

import numpy as np

from ggp.learning.net import Net, QuantizedNet, arrays_of


def assert_equal(net: Net | QuantizedNet, other: Net | QuantizedNet) -> None:
    """Bit for bit."""
    for (name, one), two in zip(arrays_of(net).items(), arrays_of(other).values(), strict=True):
        np.testing.assert_array_equal(one, two, name)
