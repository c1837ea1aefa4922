"""Random numbers that are drawn the short way are those that numpy draws the long way."""

import numpy as np
import pytest

from askwise._support.random import random_bits


@pytest.mark.parametrize("kind", [np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937])
@pytest.mark.parametrize("bits", [33, 62, 63])
def test_random_bits_are_those_of_integers(kind, bits):
    ours, theirs = np.random.Generator(kind(7)), np.random.Generator(kind(7))
    assert ours.integers(10) == theirs.integers(10)  # half of a draw of 64 bits is kept for later
    for _ in range(100):
        assert random_bits(ours, bits) == theirs.integers(1 << bits)
    assert ours.integers(10, size=9).tolist() == theirs.integers(10, size=9).tolist()


def test_many_tags_at_once_are_those_of_one_by_one():
    ours, theirs = np.random.default_rng(7), np.random.default_rng(7)
    one_by_one = [random_bits(ours, 62) for _ in range(100)]
    assert one_by_one == theirs.integers(1 << 62, size=100).tolist()
