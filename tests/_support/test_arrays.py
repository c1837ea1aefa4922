"""Arrays are read as NumPy writes them, by many threads at once, and nothing else is."""

import ast
import io
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from askwise._support.arrays import load_array
from askwise.errors import FileError


def archive_of(content):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("numbers.npy", content)
    return zipfile.ZipFile(packed)


def as_file(array):
    content = io.BytesIO()
    np.lib.format.write_array(content, array, (1, 0))
    return content.getvalue()


KINDS = st.sampled_from([np.int16, np.int64, np.uint8, np.float64, np.bool_])


@given(arrays.arrays(KINDS, arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)))
def test_what_numpy_writes_is_read(array):
    found = load_array(archive_of(as_file(array)), "numbers", array.shape, array.dtype)
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


def test_another_shape_or_type_is_named():
    archive = archive_of(as_file(np.zeros((2, 3))))
    with pytest.raises(FileError, match=r"numbers is float64 of shape \(2, 3\), expected int64"):
        load_array(archive, "numbers", (2, 3), np.int64)
    with pytest.raises(FileError, match=r"is float64 of shape \(2, 3\), .* of shape \(3, 2\)"):
        load_array(archive, "numbers", (3, 2), np.float64)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"'<f8'", b"'|O'"),
        (b"'<f8'", b"'<f1'"),
        (b"False", b"True "),
        (b"(2, 3)", b"(2, x)"),
        (b"(2, 3)", b"[2, 3]"),
        (b"'shape'", b"'shade'"),
        (b"{", b" {"),
    ],
)
def test_what_does_not_begin_as_an_array_is_refused(old, new):
    content = as_file(np.zeros((2, 3))).replace(old, new, 1)
    with pytest.raises(FileError, match="numbers does not begin as an array of numbers does"):
        load_array(archive_of(content), "numbers", (2, 3), np.float64)


def test_no_array_is_read_by_way_of_the_compiler(monkeypatch):
    """Python 3.11's is not safe where threads use it at once: a policy could not be read then."""

    def unsafe(*_):
        raise SystemError("AST constructor recursion depth mismatch (before=66, after=75)")

    archive = archive_of(as_file(np.arange(4)))
    with monkeypatch.context() as compiler:  # pytest needs it to tell of a failure
        compiler.setattr(ast, "parse", unsafe)
        compiler.setattr(ast, "literal_eval", unsafe)
        found = load_array(archive, "numbers", (4,), np.int64)
    assert found.tolist() == [0, 1, 2, 3]
