"""A policy as one file: a zip of `policy.json` and `.npy` arrays. Nothing in it is executed.

The file has the problem, the tables, the exploration and the mixture. A loaded policy decides the
same in every case. It does not have the evidence of a learner, so its tree shows no reasons.
"""

from __future__ import annotations

import io
import math
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

import msgspec
import numpy.typing as npt

from askwise._support.archives import header_of, naming, one_error, packed
from askwise._support.arrays import Array, load_array
from askwise._support.documents import prepare, replace_file
from askwise.errors import FileError
from askwise.policy.listed_tables import listed
from askwise.policy.policy import Policy
from askwise.policy.saving import SavedPolicy, arrays_of, describe, restored
from askwise.problem import Problem
from askwise.states import Lattice

FORMAT = "askwise policy"
VERSION = 1
MEMBER = "policy.json"
MOST_NOTE = 10_000
"""The most characters of the remark of a policy."""
MOST_MIXED = 100
"""The most policies that a saved policy mixes."""

Check = Callable[[Problem], None]
"""A function that raises if a problem is refused, before anything is built for it."""


class PolicyHeader(msgspec.Struct, forbid_unknown_fields=True):
    """The header of a policy, in a file of its own or in that of a trial."""

    problem: Problem
    policy: SavedPolicy
    value: float | None
    """The expected gain above the lowest reward by its evidence; None if it had none."""
    shadow_price: float | None = None
    note: str = ""
    chosen_on: str = ""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    version: int
    policy: PolicyHeader


class _First(msgspec.Struct):
    format: str = ""
    version: int = 0


prepare(_File, _First)


def on_its_own(policy: Policy) -> Policy:
    """Returns the same policy with tables that need no counters."""
    return policy.exact().each(lambda part: part.with_table(listed(part.table)))


def described(policy: Policy) -> tuple[PolicyHeader, dict[str, Array]]:
    """Returns the header and the arrays of a policy."""
    alone = on_its_own(policy)
    value = policy.value_above_lowest if policy.has_known_value else math.nan
    usual = policy.lattice.per_unit
    saved = describe(alone, usual, None)
    header = PolicyHeader(
        usual.problem,
        saved,
        value if math.isfinite(value) else None,
        policy.shadow_price,
        policy.note[:MOST_NOTE],
        policy.chosen_on,
    )
    return header, arrays_of(alone, saved)


def rebuilt(header: PolicyHeader, archive: zipfile.ZipFile, prefix: str = "") -> Policy:
    """Returns the policy of a header, whose arrays begin with a prefix in a file."""
    if len(header.note) > MOST_NOTE or len(header.policy.mixed) > MOST_MIXED:
        raise FileError("a policy mixes more policies, or says more, than any")
    numbers = [header.value, header.shadow_price]
    if not all(number is None or math.isfinite(number) for number in numbers):
        raise FileError("the value of a policy is no finite number")

    def read(name: str, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        return load_array(archive, f"{prefix}{name}", shape, dtype)

    policy = restored(header.policy, read, Lattice(header.problem), None)
    policy.shadow_price, policy.note = header.shadow_price, header.note
    policy.chosen_on = header.chosen_on
    if header.value is not None:
        policy.keep_value(header.value)
    return policy


def to_bytes(policy: Policy) -> bytes:
    """Returns the content of the file that `write` writes."""
    header, arrays = described(policy)
    return packed(MEMBER, msgspec.json.encode(_File(FORMAT, VERSION, header)), arrays)


def write(policy: Policy, path: str | os.PathLike[str]) -> None:
    """Writes the policy to one file, whole or not at all."""
    replace_file(Path(path), to_bytes(policy))


def from_bytes(content: bytes, check: Check | None = None) -> Policy:
    """Returns the policy that `to_bytes` gave. Damaged bytes raise a `FileError`."""
    return _read(io.BytesIO(content), check)


def read(path: str | os.PathLike[str], check: Check | None = None) -> Policy:
    """Returns the saved policy. A damaged or foreign file raises a `FileError`.

    `check` is called before anything is built for its problem.
    """
    path = Path(path)
    with naming(path, "policy"), path.open("rb") as file:
        return _read(file, check)


def _read(file: IO[bytes], check: Check | None) -> Policy:
    with one_error("policy"), zipfile.ZipFile(file) as archive:
        text = header_of(archive, MEMBER, "policy")
        first = msgspec.json.decode(text, type=_First)
        if first.format != FORMAT:
            raise FileError("not a saved policy")
        if first.version != VERSION:
            raise FileError(f"saved in format {first.version!r}, expected {VERSION}")
        header = msgspec.json.decode(text, type=_File).policy
        if check is not None:
            check(header.problem)
        return rebuilt(header, archive)
