"""Arrays in a zip file, read with nothing believed: name, shape and type must be as expected."""

from __future__ import annotations

import math
import zipfile
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from askwise.errors import FileError

Array: TypeAlias = npt.NDArray[Any]

ARRAY_HEADER = 4096
"""Bytes that go before the numbers of an array, at most."""


def load_array(
    archive: zipfile.ZipFile, name: str, shape: tuple[int, ...], dtype: npt.DTypeLike
) -> Array:
    """The array of that name, which must have this shape and type."""
    expected = np.dtype(dtype)
    size = math.prod(shape) * expected.itemsize
    if archive.getinfo(f"{name}.npy").file_size > size + ARRAY_HEADER:
        raise FileError(f"{name} unpacks to more than the {size:,} bytes that it should have")
    with archive.open(f"{name}.npy") as file:
        version = np.lib.format.read_magic(file)
        if version != (1, 0):
            raise FileError(f"{name} is in an unknown array format")
        found_shape, _, found = np.lib.format.read_array_header_1_0(file)
        if found_shape != shape or found != expected:
            raise FileError(
                f"{name} is {found} of shape {found_shape}, expected {expected} of shape {shape}"
            )
        content = file.read(size)
        if len(content) != size or file.read(1):
            raise FileError(f"{name} is not as long as it says")
    return np.frombuffer(bytearray(content), expected).reshape(shape)
