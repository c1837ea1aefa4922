"""A trial as one file: a zip of `trial.json` and `.npy` arrays. Nothing in it is executed.

The file has both policies, the random state, and every case that waits or has its reward. A loaded
trial continues exactly as the original would have.
"""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec

from askwise._support.archives import MOST_HEADER, header_of, naming, one_error, packed
from askwise._support.arrays import Array
from askwise._support.documents import prepare, replace_file
from askwise.errors import FileError, StatisticsError
from askwise.learners.saved_cases import SavedCase, describe_case, reopened
from askwise.learners.saved_generators import generator_from_json, generator_to_json
from askwise.policy import Policy
from askwise.policy.policy_files import PolicyHeader, described, rebuilt

if TYPE_CHECKING:
    from askwise.logs.trial import Trial

FORMAT = "askwise trial"
VERSION = 1
MEMBER = "trial.json"
MOST_RANDOM = 1 << 17
"""The most bytes of the random state."""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    version: int
    a: PolicyHeader
    b: PolicyHeader
    share: float
    confidence: float
    names: tuple[str, str]
    opened: int
    rng: dict[str, Any]
    cases: list[SavedCase]
    """The cases that wait, and those that have their reward."""
    by_default: list[int]
    """The numbers of the cases whose reward is a default."""


class _First(msgspec.Struct):
    format: str = ""
    version: int = 0
    rng: msgspec.Raw = msgspec.Raw()


prepare(_File, _First)


def to_bytes(trial: Trial) -> bytes:
    """Returns the content of the file that `write` writes."""
    with trial.lock:
        (a, arrays_a), (b, arrays_b) = described(trial.a), described(trial.b)
        waiting = [case for case in trial.cases.values() if case.share is None]
        cases = [*waiting, *(case for case, _ in trial.rewarded_cases())]
        usual, policies = trial.policy.lattice.per_unit, [trial.policy]
        header = _File(
            FORMAT,
            VERSION,
            a,
            b,
            trial.share,
            trial.confidence,
            trial.names,
            trial.opened,
            generator_to_json(trial.rng),
            [describe_case(case, policies, usual) for case in cases],
            [case.id for case in cases if case.is_by_default],
        )
        arrays: dict[str, Array] = {f"a.{name}": array for name, array in arrays_a.items()}
        arrays |= {f"b.{name}": array for name, array in arrays_b.items()}
    text = msgspec.json.encode(header)
    if len(text) > MOST_HEADER:
        raise StatisticsError(
            f"{len(cases):,} cases are more than a file takes: keep trial.log() as a table instead"
        )
    return packed(MEMBER, text, arrays)


def write(trial: Trial, path: str | os.PathLike[str]) -> None:
    """Writes the trial to one file, whole or not at all."""
    replace_file(Path(path), to_bytes(trial))


def read(path: str | os.PathLike[str]) -> Trial:
    """Returns the saved trial. A damaged or foreign file raises a `FileError`."""
    path = Path(path)
    with naming(path, "trial"), path.open("rb") as file:
        return _read(file)


def from_bytes(content: bytes) -> Trial:
    """Returns the trial that `to_bytes` gave. Damaged bytes raise a `FileError`."""
    return _read(io.BytesIO(content))


def _read(file: IO[bytes]) -> Trial:
    from askwise.logs.trial import Trial

    with one_error("trial"), zipfile.ZipFile(file) as archive:
        header = _header(archive)
        a, b = rebuilt(header.a, archive, "a."), rebuilt(header.b, archive, "b.")
        if a.lattice != b.lattice:
            raise FileError("its two policies are of two different problems")
        rng = generator_from_json(header.rng)
        trial = Trial(a, b, header.share, header.confidence, rng, header.names)
        trial.opened = header.opened
        by_default = set(header.by_default)
        for saved in header.cases:
            _resume(trial, saved, is_default=saved.id in by_default)
        return trial


def _header(archive: zipfile.ZipFile) -> _File:
    text = header_of(archive, MEMBER, "trial")
    first = msgspec.json.decode(text, type=_First)
    if first.format != FORMAT:
        raise FileError("not a saved trial")
    if first.version != VERSION:
        raise FileError(f"saved in format {first.version!r}, expected {VERSION}")
    if len(bytes(first.rng)) > MOST_RANDOM:
        raise FileError("its random state is longer than any")
    header = msgspec.json.decode(text, type=_File)
    if not 0 < header.confidence < 1:
        raise FileError(f"a confidence of {header.confidence}")
    numbers = [n for case in header.cases for n in (case.id, case.tag, case.start, case.block)]
    numbers += [n for case in header.cases for step in case.path for n in step]
    if min(numbers, default=0) < 0 or max(numbers, default=0) >= 2**63:
        raise FileError("a count or a state is negative, or has more than 63 bits")
    if any(not 0 < case.id <= header.opened for case in header.cases):
        raise FileError("a case has a number that was not given")
    if len({case.id for case in header.cases}) < len(header.cases):
        raise FileError("two cases have one number")
    return header


def _resume(trial: Trial, saved: SavedCase, *, is_default: bool) -> None:
    lattice, policies = trial.policy.lattice.per_unit, list[Policy]([trial.policy])
    if max([saved.start, *(state for _, state in saved.path)]) >= lattice.size:
        raise FileError(f"case {saved.id} is in a state that there is not")
    is_looking = saved.action < 0
    if saved.policy not in (None, 0) or (saved.policy is None) == is_looking:
        raise FileError(f"case {saved.id} follows a policy that is not there")
    if saved.start >= lattice.contexts or (is_looking and saved.default is not None):
        raise FileError(f"case {saved.id} is none of a trial")
    case = reopened(saved, trial, lattice, policies)
    case.is_by_default = is_default and saved.default is not None
    trial.resume(case)
