"""A file of askwise is a zip of one JSON header and `.npy` arrays. Nothing in it is executed.

Files may come from anywhere. A damaged or foreign one raises one `FileError`, and the length of its
header is checked before it is unpacked.
"""

from __future__ import annotations

import io
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np

from askwise._support.arrays import Array
from askwise.errors import AskwiseError, FileError, TooLargeError

MOST_HEADER = 64 << 20
"""The most bytes of a header, for half a million open cases. A short file may unpack to a thousand
times its length, so its unpacked length is checked first.
"""

PROBLEM_FILES = (".yaml", ".yml", ".json")


def packed(name: str, header: bytes, arrays: Mapping[str, Array]) -> bytes:
    """Returns the file with this header, whose member has that name, and these arrays."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        # `open` writes no time of day, so the same content is always the same bytes
        with archive.open(name, "w") as file:
            file.write(header)
        for key, array in arrays.items():
            with archive.open(f"{key}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)
    return content.getvalue()


def header_of(archive: zipfile.ZipFile, name: str, what: str) -> bytes:
    """Returns the header of a file that should hold `what`, such as "learner"."""
    if name not in archive.namelist():
        raise FileError(f"not a saved {what}: it holds no {name}")
    if archive.getinfo(name).file_size > MOST_HEADER:
        raise FileError(f"its {name} unpacks to more than {MOST_HEADER:,} bytes")
    return archive.read(name)


@contextmanager
def one_error(what: str) -> Iterator[None]:
    """Turns whatever a damaged file raises into one `FileError`."""
    try:
        yield
    except (FileError, TooLargeError):
        raise
    except (
        zipfile.BadZipFile,
        msgspec.MsgspecError,
        AskwiseError,
        OSError,
        EOFError,
        ArithmeticError,
        LookupError,
        MemoryError,
        NotImplementedError,
        RuntimeError,
        TypeError,
        ValueError,
        tokenize.TokenError,  # NumPy, reading the header of a damaged array
        zlib.error,
    ) as error:
        raise FileError(f"not a saved {what}, or damaged: {error}") from error


@contextmanager
def naming(path: Path, what: str) -> Iterator[None]:
    """Names the file in the errors of reading it."""
    try:
        yield
    except FileNotFoundError:
        raise
    except FileError as error:
        remedy = "; Problem.load reads a problem file" if path.suffix in PROBLEM_FILES else ""
        raise FileError(f"{path}: {error}{remedy}") from None
    except TooLargeError as error:
        raise TooLargeError(f"{path}: {error}") from None
    except OSError as error:
        raise FileError(f"{path}: not a saved {what}, or damaged: {error}") from error
