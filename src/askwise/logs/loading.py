"""Reads what was saved: a learner, a policy or a trial, whichever the file holds."""

from __future__ import annotations

import io
import os
import zipfile
from typing import Any

from askwise import learners
from askwise.errors import OptionError
from askwise.logs import trial_files
from askwise.policy import policy_files


def load(source: str | os.PathLike[str] | bytes) -> Any:
    """Returns what `save(path)` wrote, or `to_bytes()` gave: a learner, a `Policy` or a `Trial`.

    A learner and a trial continue exactly as the originals. A policy decides the same.
    """
    if not isinstance(source, str | os.PathLike | bytes):
        raise OptionError(f"expected a path, or the bytes of to_bytes(), got {source!r}")
    held = _members(source)
    for files in (policy_files, trial_files):
        if files.MEMBER in held:
            return files.from_bytes(source) if isinstance(source, bytes) else files.read(source)
    return learners.from_bytes(source) if isinstance(source, bytes) else learners.load(source)


def _members(source: str | os.PathLike[str] | bytes) -> list[str]:
    """Returns the names of the members of a zip; none if it is no zip."""
    try:
        with zipfile.ZipFile(
            io.BytesIO(source) if isinstance(source, bytes) else source
        ) as archive:
            return archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return []
