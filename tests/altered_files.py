"""Saved learners with another header or other arrays, as an attacker or a bad disk makes them."""

import io
import json
import zipfile
import zlib

import numpy as np


def npy(array):
    content = io.BytesIO()
    np.lib.format.write_array(content, array, allow_pickle=False)
    return content.getvalue()


def claims(shape, dtype):
    """The head of an array of that shape, without what it should hold."""
    content = io.BytesIO()
    head = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(content, head)
    return content.getvalue()


class PacksOnce:
    """Deflates, but a part that comes again is not compressed again: a bomb is one part, often."""

    def __init__(self):
        self._packed = {}

    def compress(self, part):
        if part not in self._packed:
            packer = zlib.compressobj(wbits=-15)
            self._packed[part] = packer.compress(part) + packer.flush(zlib.Z_FULL_FLUSH)
        return self._packed[part]

    def flush(self):
        return zlib.compressobj(wbits=-15).flush()


def altered(folder, learner, change=lambda header: None, **members):
    """The path of a saved learner with another header, and other members; None leaves one out."""
    path = folder / "good.askwise"
    learner.save(path)
    out = folder / "altered.askwise"
    with (
        zipfile.ZipFile(path) as old,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            content = old.read(name)
            if name == "learner.json":
                header = json.loads(content)
                change(header)
                content = json.dumps(header).encode()
            content = members.pop(name.removesuffix(".npy").replace(".", "_"), content)
            if content is None:
                continue
            with new.open(name, "w", force_zip64=True) as file:
                file._compressor = PacksOnce()
                for part in [content] if isinstance(content, bytes) else content:
                    file.write(part)
        assert not members
    return out
