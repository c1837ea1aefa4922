"""Reads arrays from an untrusted zip file: name, shape and type must be as expected."""

from __future__ import annotations

import math
import re
import zipfile
from typing import IO, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from askwise.errors import FileError

Array: TypeAlias = npt.NDArray[Any]

ARRAY_HEADER = 4096
"""The most bytes that the header of an array may have."""

_HEADER = re.compile(
    rb"\{'descr': '([<>|](?:b1|[iu][1248]|f[248]))', 'fortran_order': False, "
    rb"'shape': \(((?:\d{1,18}(?:, |,|(?=\))))*)\), \} *\n"
)
"""The header of an array that askwise saved; no other header is accepted."""


def load_array(
    archive: zipfile.ZipFile, name: str, shape: tuple[int, ...], dtype: npt.DTypeLike
) -> Array:
    """Read the array of that name, which must have this shape and type."""
    expected = np.dtype(dtype)
    size = math.prod(shape) * expected.itemsize
    if archive.getinfo(f"{name}.npy").file_size > size + ARRAY_HEADER:
        raise FileError(f"{name} unpacks to more than the {size:,} bytes that it should have")
    with archive.open(f"{name}.npy") as file:
        version = np.lib.format.read_magic(file)
        if version != (1, 0):
            raise FileError(f"{name} is in an unknown array format")
        found, found_shape = _read_header(file, name)
        if found_shape != shape or found != expected:
            raise FileError(
                f"{name} is {found} of shape {found_shape}, expected {expected} of shape {shape}"
            )
        content = file.read(size)
        if len(content) != size or file.read(1):
            raise FileError(f"{name} is not as long as it says")
    return np.frombuffer(bytearray(content), expected).reshape(shape)


def _read_header(file: IO[bytes], name: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """The type and the shape of an array, as NumPy writes them.

    NumPy reads them with `ast`. In Python 3.11 before 3.11.8 that sometimes fails if several
    threads do so at the same time, and the service reads policies in several threads.
    """
    length = int.from_bytes(file.read(2), "little")
    found = _HEADER.fullmatch(file.read(length))
    if found is None:
        raise FileError(f"{name} does not begin as an array of numbers does")
    kind, shape = (part.decode() for part in found.groups())
    return np.dtype(kind), tuple(int(n) for n in shape.split(",") if n.strip())
