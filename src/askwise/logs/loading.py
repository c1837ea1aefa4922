"""Reads what was saved: a learner, a policy or a trial, whichever the file holds."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from askwise import learners
from askwise.logs import trial_files
from askwise.policy import policy_files


def load(path: str | os.PathLike[str]) -> Any:
    """Returns what `save(path)` wrote: a learner, a `Policy` or a `Trial`.

    A learner and a trial continue exactly as the originals. A policy decides the same.
    """
    read: dict[str, Callable[..., Any]] = {
        policy_files.MEMBER: policy_files.read,
        trial_files.MEMBER: trial_files.read,
    }
    try:
        with zipfile.ZipFile(Path(path)) as archive:
            held = [name for name in archive.namelist() if name in read]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        held = []
    return read[held[0]](path) if held else learners.load(path)
