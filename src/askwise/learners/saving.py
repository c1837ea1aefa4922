"""A learner as one file: a zip of `learner.json` and `.npy` arrays. Nothing in it is executed.

What is saved is all there is: counters, the current policy, the open cases with the policies they
were opened under, the random state. A loaded learner goes on exactly as the original would have.
"""

from __future__ import annotations

import io
import os
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np

from askwise._support.documents import prepare, replace_file
from askwise.counting import check_reward
from askwise.errors import AskwiseError, FileError, StatisticsError, TooLargeError
from askwise.learners.base import BaseLearner
from askwise.learners.cases import Case
from askwise.learners.saved_counters import (
    SavedMemory,
    arrays_of,
    arrays_of_log,
    describe_memory,
    parts_of,
    restore_counters,
    restore_log,
    restore_memory,
    restore_records,
)
from askwise.learners.saved_policies import (
    SavedPolicy,
    at_prices,
    describe,
    load_array,
    own_prices,
    rebuild,
    tables_of,
)
from askwise.policy import Policy
from askwise.problem import Problem
from askwise.states import Lattice

FORMAT = "askwise learner"
VERSION = 3

MOST_HEADER = 64 << 20
"""Bytes of learner.json: half a million open cases. A short file may unpack to a thousand times its
length, so what it unpacks to is looked at before."""

MOST_OPTIONS = 1 << 20
MOST_RANDOM = 1 << 17
"""Bytes of what may hold anything."""


class _Case(msgspec.Struct, forbid_unknown_fields=True):
    id: int
    path: list[tuple[int, int]]
    action: int
    tag: int
    policy: int | None
    """Which of the saved policies it follows; none once it has acted."""
    start: int
    default: float | None
    """The reward that was put in by default, if one was."""
    block: int
    prices: dict[str, float]
    """Those that are not the problem's."""
    on_file: list[int]
    propensity: list[float] | None = None
    """Once it has acted: how likely its steps were, if that is known."""


class _First(msgspec.Struct):
    """What is looked at before the rest is believed."""

    format: Any = None
    version: Any = None
    options: msgspec.Raw = msgspec.Raw()
    rng: msgspec.Raw = msgspec.Raw()


class _Header(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    version: int
    learner: str
    options: dict[str, Any]
    problem: Problem
    cases_counted: int
    rows: int
    """How many rows the counters have."""
    round: int
    over: bool
    lengths: tuple[int, int]
    began: list[tuple[int, int, int]]
    opened: int
    rng: dict[str, Any]
    policies: list[SavedPolicy]
    """The current one first, if there is one."""
    planned: bool
    cases: list[_Case]
    memory: SavedMemory | None
    records_counted: int | None = None
    """How many of the cases were complete records; older files do not say."""
    logged: int = 0
    """How many cases were a log's, with which it began,"""
    records: int = 0
    """and how many different complete records it keeps."""


prepare(_Header)


def write(learner: BaseLearner, path: str | os.PathLike[str]) -> None:
    """Save the learner; the file is replaced whole or not at all."""
    replace_file(Path(path), to_bytes(learner))


def to_bytes(learner: BaseLearner) -> bytes:
    """The learner as what a file of it would hold."""
    policies: list[Policy] = [] if learner._policy is None else [learner._policy]
    cases = []
    for case in learner.cases.values():
        place = None
        if case._policy is not None:
            if not any(case.follows(p) for p in policies):
                policies.append(case._policy)
            place = next(k for k, p in enumerate(policies) if case.follows(p))
        what = (case.id, case.path, case.action_index, case.tag, place, case.start, case.earned)
        prices = own_prices(case.lattice, learner.lattice)
        chances = None if case.wanted or case.propensity is None else list(case.propensity)
        cases.append(_Case(*what, case.block, *prices, chances))
    header = _Header(
        format=FORMAT,
        version=VERSION,
        learner=learner.name,
        options=learner.options,
        problem=learner.problem,
        cases_counted=learner.statistics.cases,
        rows=learner.statistics.visited,
        round=learner.round,
        over=learner._over,
        lengths=learner.lengths,
        began=[(s, c, n) for (s, c), (n, _) in learner._rule.counts.items()],
        opened=learner._opened,
        rng=_plain(learner.rng.bit_generator.state),
        policies=[describe(p, learner) for p in policies],
        planned=learner._policy is not None,
        cases=cases,
        memory=describe_memory(learner.memory),
        records_counted=learner.statistics.records,
        logged=learner.log.cases,
        records=learner.log.different,
    )
    arrays = arrays_of(learner.statistics) | learner.extra_arrays() | arrays_of_log(learner.log)
    for k, part in enumerate(parts_of(learner.memory)):
        tables = arrays_of(part.statistics) | part.tallies
        arrays |= {f"memory{k}.{name}": array for name, array in tables.items()}
    for k, policy in enumerate(policies):
        for name, array in tables_of(policy, header.policies[k].rows).items():
            arrays[f"policy{k}.{name}"] = array
    text = msgspec.json.encode(header)
    if len(text) > MOST_HEADER:
        raise StatisticsError(
            f"{len(cases):,} open cases are more than a file takes: finish or cancel some"
        )
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("learner.json", text)
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)
    return content.getvalue()


Check = Callable[[Problem, str, Mapping[str, Any]], None]
"""Raises if a problem, for the learner of that name with these options, is not wanted."""


def read(
    path: str | os.PathLike[str],
    learners: Mapping[str, type[BaseLearner]],
    check: Check | None = None,
) -> BaseLearner:
    """The learner that was saved; a damaged or foreign file is a `FileError`.

    What it unpacks to is at most what the counters and policies of its problem need. `check` is
    asked before anything is built for that problem.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            return _read(file, learners, check)
    except FileNotFoundError:
        raise
    except FileError as error:
        raise FileError(f"{path}: {error}") from None
    except TooLargeError as error:
        raise TooLargeError(f"{path}: {error}") from None
    except OSError as error:
        raise FileError(f"{path}: not a saved learner, or damaged: {error}") from error


def from_bytes(
    content: bytes, learners: Mapping[str, type[BaseLearner]], check: Check | None = None
) -> BaseLearner:
    """The learner that `to_bytes` gave; what is damaged or foreign is a `FileError`."""
    return _read(io.BytesIO(content), learners, check)


def _read(
    file: IO[bytes], learners: Mapping[str, type[BaseLearner]], check: Check | None
) -> BaseLearner:
    try:
        with zipfile.ZipFile(file) as archive:
            return _restore(archive, learners, check)
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
        raise FileError(f"not a saved learner, or damaged: {error}") from error


def _read_header(archive: zipfile.ZipFile) -> _Header:
    if "learner.json" not in archive.namelist():
        raise FileError("not a saved learner: it holds no learner.json")
    if archive.getinfo("learner.json").file_size > MOST_HEADER:
        raise FileError(f"its learner.json unpacks to more than {MOST_HEADER:,} bytes")
    text = archive.read("learner.json")
    first = msgspec.json.decode(text, type=_First)
    if first.format != FORMAT:
        raise FileError("not a saved learner")
    if first.version != VERSION:
        raise FileError(f"saved in format {first.version!r}, expected {VERSION}")
    if len(bytes(first.options)) > MOST_OPTIONS or len(bytes(first.rng)) > MOST_RANDOM:
        raise FileError("its options or its random state are longer than any")
    header = msgspec.json.decode(text, type=_Header)
    numbers = [header.cases_counted, header.rows, header.round, header.opened, *header.lengths]
    numbers += [n for began in header.began for n in (began[0], began[2])]
    numbers += [n for case in header.cases for n in (case.id, case.tag, case.start, case.block)]
    numbers += [n for case in header.cases for step in case.path for n in step]
    if min(numbers) < 0:
        raise FileError("a count or a state is negative")
    if max(numbers) >= 2**63:
        raise FileError("a count or a state has more than 63 bits")
    if len({case.id for case in header.cases}) < len(header.cases):
        raise FileError("two cases have one number")
    if len(header.policies) > header.planned + len(header.cases):
        raise FileError("it has policies that nobody follows")
    for case in header.cases:
        if case.policy is not None and not 0 <= case.policy < len(header.policies):
            raise FileError(f"case {case.id} follows a policy that is not there")
    return header


def _restore(
    archive: zipfile.ZipFile, learners: Mapping[str, type[BaseLearner]], check: Check | None
) -> BaseLearner:
    header = _read_header(archive)
    if header.learner not in learners:
        known = ", ".join(learners)
        raise FileError(f"unknown learner {header.learner!r}, expected one of: {known}")
    if check is not None:
        check(header.problem, header.learner, header.options)
    learner = learners[header.learner](header.problem, **header.options)
    statistics = learner.statistics
    restore_counters(archive, "", statistics, header.cases_counted, header.rows)
    restore_records(statistics, header.records_counted, forgets=header.memory is not None)
    for name, array in learner.extra_arrays().items():
        array[...] = load_array(archive, name, array.shape, array.dtype)
    restore_log(archive, learner, header.logged, header.records)
    learner.restored()
    restore_memory(archive, learner, header.memory)
    policies = [rebuild(archive, learner, f"policy{k}", p) for k, p in enumerate(header.policies)]
    if header.planned:
        learner.resume(policies[0])
        assert learner._policy is not None
        policies[0] = learner._policy
    learner.round, learner._over, learner._opened = header.round, header.over, header.opened
    learner.lengths = header.lengths
    states = [state for state, _, _ in header.began]
    states += [state for case in header.cases for _, state in case.path]
    states += [case.start for case in header.cases]
    if max(states, default=0) >= learner.lattice.size:
        raise FileError(f"there is no state {max(states)}")
    learner._rule.resume(header.began, statistics)
    learner.rng = _revive(header.rng)
    for saved in header.cases:
        case = learner.cases[saved.id] = _reopen(learner, saved, policies)
        if case.wanted:
            learner.looking[case.id] = case
    return learner


def _reopen(learner: BaseLearner, saved: _Case, policies: list[Policy]) -> Case:
    if saved.default is not None:
        check_reward(saved.default)
    if not -1 <= saved.action < len(learner.problem.actions):
        raise FileError(f"case {saved.id} has no action {saved.action}")
    if not _is_path(learner.lattice, saved.start, saved.path):
        raise FileError(f"case {saved.id} took steps that lead elsewhere")
    if not all(0 <= chance <= 1 for chance in saved.propensity or ()):
        raise FileError(f"case {saved.id} has chances that are not from 0 to 1")
    return Case.resumed(
        saved.id,
        learner,
        at_prices(learner.lattice, saved.prices, saved.on_file),
        None if saved.policy is None else policies[saved.policy],
        start=saved.start,
        path=saved.path,
        tag=saved.tag,
        action=saved.action,
        earned=saved.default,
        is_by_default=saved.default is not None,
        block=saved.block,
        chances=None if saved.propensity is None else tuple(saved.propensity),
    )


def _is_path(lattice: Lattice, start: int, path: list[tuple[int, int]]) -> bool:
    state = start
    for observation, after in path:
        if observation >= lattice.buyable or after not in lattice.children(state, observation):
            return False
        state = after
    return True


def _plain(state: Mapping[str, Any]) -> dict[str, Any]:
    """A bit generator's state for JSON; whole numbers of 128 bits go as text."""
    return {
        key: _plain(value)
        if isinstance(value, Mapping)
        else value.tolist()
        if isinstance(value, np.ndarray)
        else str(value)
        if isinstance(value, int)
        else value
        for key, value in state.items()
    }


def _revive(plain: dict[str, Any]) -> np.random.Generator:
    kinds = {k.__name__: k for k in _BIT_GENERATORS}
    if plain.get("bit_generator") not in kinds:
        raise FileError(f"unknown random generator {plain.get('bit_generator')!r}")

    def revived(state: dict[str, Any]) -> dict[str, Any]:
        return {
            key: revived(value)
            if isinstance(value, dict)
            else int(value)
            if isinstance(value, str) and key != "bit_generator"
            else value
            for key, value in state.items()
        }

    generator: Any = kinds[plain["bit_generator"]]()
    generator.state = revived(plain)
    return np.random.Generator(generator)


_BIT_GENERATORS = (
    np.random.PCG64,
    np.random.PCG64DXSM,
    np.random.MT19937,
    np.random.Philox,
    np.random.SFC64,
)
