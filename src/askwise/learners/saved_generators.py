"""A random generator is converted to JSON and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from askwise.errors import FileError

BIT_GENERATORS = {
    kind.__name__: kind
    for kind in (
        np.random.PCG64,
        np.random.PCG64DXSM,
        np.random.MT19937,
        np.random.Philox,
        np.random.SFC64,
    )
}


def generator_to_json(rng: np.random.Generator) -> dict[str, Any]:
    """Returns the state of a generator for JSON. Whole numbers of 128 bits become text."""
    return _state_to_json(rng.bit_generator.state)


def _state_to_json(state: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _state_to_json(value)
        if isinstance(value, Mapping)
        else value.tolist()
        if isinstance(value, np.ndarray)
        else str(value)
        if isinstance(value, int)
        else value
        for key, value in state.items()
    }


def generator_from_json(saved: dict[str, Any]) -> np.random.Generator:
    """Returns the generator whose state `generator_to_json` gave."""
    name = saved.get("bit_generator")
    if name not in BIT_GENERATORS:
        raise FileError(f"unknown random generator {name!r}")

    def numbers(state: dict[str, Any]) -> dict[str, Any]:
        return {
            key: numbers(value)
            if isinstance(value, dict)
            else int(value)
            if isinstance(value, str) and key != "bit_generator"
            else value
            for key, value in state.items()
        }

    generator: Any = BIT_GENERATORS[name]()
    generator.state = numbers(saved)
    return np.random.Generator(generator)
