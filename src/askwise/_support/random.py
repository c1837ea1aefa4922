"""Random generators. Randomness always comes from a generator that was passed in."""

import numpy as np

from askwise._support.typing import RandomSource
from askwise.errors import OptionError


def as_generator(rng: RandomSource) -> np.random.Generator:
    """The generator itself, or a new one with that seed."""
    if isinstance(rng, bool) or not (
        rng is None or isinstance(rng, int | np.integer | np.random.Generator)
    ):
        raise OptionError(f"rng must be a whole number or a numpy Generator, got {rng!r}")
    try:
        return np.random.default_rng(rng)
    except ValueError:
        raise OptionError(f"rng must not be negative, got {rng!r}") from None


def random_bits(rng: np.random.Generator, bits: int) -> int:
    """`rng.integers(2**bits)`, for 33 to 63 bits: the same number from the same draw."""
    source = rng.bit_generator
    if type(source) is np.random.PCG64:  # NumPy's default generator, in a tenth of the time
        return source.random_raw() >> (64 - bits)
    return int(rng.integers(1 << bits))
