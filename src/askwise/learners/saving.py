"""A learner as one file: a zip of `learner.json` and `.npy` arrays. Nothing in it is executed.

The file has everything: counters, the current policy, the open cases with the policies they were
opened under, the random state. A loaded learner continues exactly as the original would have.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy.typing as npt

from askwise._support.archives import MOST_HEADER, header_of, naming, one_error, packed
from askwise._support.arrays import Array, load_array
from askwise._support.documents import prepare, replace_file
from askwise.errors import FileError, StatisticsError
from askwise.learners.learner import BaseLearner, rounds_of
from askwise.learners.rounds import Rounds
from askwise.learners.saved_cases import SavedCase, describe_case, reopened
from askwise.learners.saved_counters import (
    SavedForgetting,
    arrays_of,
    arrays_of_log,
    describe_forgetting,
    parts_of,
    restore_counters,
    restore_forgetting,
    restore_log,
    restore_records,
    restore_strategy,
)
from askwise.learners.saved_generators import generator_from_json, generator_to_json
from askwise.policy import Policy
from askwise.policy.saving import (
    SavedPolicy,
    describe,
    restored,
)
from askwise.policy.saving import arrays_of as arrays_of_policy
from askwise.problem import Problem

FORMAT = "askwise learner"
VERSION = 10
OLDEST = 6
"""The oldest format that is read. Before 10 expected rewards were not kept. Before 9 cases were not
counted by stake. Before 8 no values were ordered, not even bins. Before 7 the variance of rewards
and what people did were not counted.
"""

MEMBER = "learner.json"
MOST_OPTIONS = 1 << 20
MOST_RANDOM = 1 << 17
"""The most bytes of a field without a fixed form."""


class _First(msgspec.Struct):
    """The part of the header that is checked before the rest is read."""

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
    """The number of rows of the counters."""
    round: int
    over: bool
    lengths: tuple[int, int]
    began: list[tuple[int, int, int]]
    opened: int
    rng: dict[str, Any]
    policies: list[SavedPolicy]
    """The current one first, if there is one."""
    planned: bool
    cases: list[SavedCase]
    forgetting: SavedForgetting | None
    records_counted: int | None = None
    """The number of complete records among the cases; older files do not have it."""
    logged: int = 0
    """The number of cases of the log with which it began."""
    records: int = 0
    """The number of different complete records that it keeps."""
    log_drawn: tuple[float, int] = (1.0, 0)
    """The weight of the log, and the number of cases that it was drawn from."""
    log_stake: float = 1.0
    """The mean stake of the log's cases."""


prepare(_Header)


def write(learner: BaseLearner, path: str | os.PathLike[str]) -> None:
    """Saves the learner. The file is replaced as a whole or not at all."""
    replace_file(Path(path), to_bytes(learner))


def to_bytes(learner: BaseLearner) -> bytes:
    """Returns the content of a learner's file."""
    rounds = rounds_of(learner)
    with rounds.lock:
        header, arrays = _header(learner, rounds)
        return _packed(header, arrays)


def _header(learner: BaseLearner, rounds: Rounds) -> tuple[_Header, dict[str, Array]]:
    now, strategy = rounds.now, rounds.strategy
    policies: list[Policy] = [] if rounds.policy is None else [rounds.policy]
    cases = [describe_case(case, policies, now.lattice) for case in rounds.cases.values()]
    header = _Header(
        format=FORMAT,
        version=VERSION,
        learner=learner.name,
        options=learner.options,
        problem=rounds.problem,
        cases_counted=now.statistics.cases,
        rows=now.statistics.visited,
        round=now.round,
        over=rounds.is_over,
        lengths=now.lengths,
        began=[(s, c, n) for (s, c), (n, _) in rounds.rule.counts.items()],
        opened=now.opened,
        rng=generator_to_json(now.rng),
        policies=[describe(p, now.lattice, now.statistics) for p in policies],
        planned=rounds.policy is not None,
        cases=cases,
        forgetting=describe_forgetting(rounds.forgetting),
        records_counted=now.statistics.records,
        logged=strategy.log.cases,
        records=strategy.log.different,
        log_drawn=(strategy.log.weight, strategy.log.drawn_from),
        log_stake=strategy.log.stake,
    )
    arrays = arrays_of(now.statistics) | strategy.arrays() | arrays_of_log(strategy.log)
    for k, part in enumerate(parts_of(rounds.forgetting)):
        tables = arrays_of(part.statistics) | part.tallies
        arrays |= {f"block{k}.{name}": array for name, array in tables.items()}
    for k, policy in enumerate(policies):
        for name, array in arrays_of_policy(policy, header.policies[k]).items():
            arrays[f"policy{k}.{name}"] = array
    return header, arrays


def _packed(header: _Header, arrays: Mapping[str, Array]) -> bytes:
    text = msgspec.json.encode(header)
    if len(text) > MOST_HEADER:
        raise StatisticsError(
            f"{len(header.cases):,} open cases are more than a file takes: finish or cancel some"
        )
    return packed(MEMBER, text, arrays)


Check = Callable[[Problem, str, Mapping[str, Any]], None]
"""A function that raises if a problem is refused for this learner and its options."""


def read(
    path: str | os.PathLike[str],
    learners: Mapping[str, type[BaseLearner]],
    check: Check | None = None,
) -> BaseLearner:
    """Returns the saved learner. A damaged or foreign file raises a `FileError`.

    Its unpacked length is at most what the counters and policies of its problem need. `check` is
    called before anything is built for that problem.
    """
    path = Path(path)
    with naming(path, "learner"), path.open("rb") as file:
        return _read(file, learners, check)


def from_bytes(
    content: bytes, learners: Mapping[str, type[BaseLearner]], check: Check | None = None
) -> BaseLearner:
    """Returns the learner that `to_bytes` gave. Damaged bytes raise a `FileError`."""
    return _read(io.BytesIO(content), learners, check)


def _read(
    file: IO[bytes], learners: Mapping[str, type[BaseLearner]], check: Check | None
) -> BaseLearner:
    with one_error("learner"), zipfile.ZipFile(file) as archive:
        return _restore(archive, learners, check)


def _read_header(archive: zipfile.ZipFile) -> _Header:
    for other in ("policy", "trial"):
        if f"{other}.json" in archive.namelist():
            raise FileError(f"it holds a {other}, not a learner: askwise.load reads it")
    text = header_of(archive, MEMBER, "learner")
    first = msgspec.json.decode(text, type=_First)
    if first.format != FORMAT:
        raise FileError("not a saved learner")
    if first.version not in range(OLDEST, VERSION + 1):
        raise FileError(f"saved in format {first.version!r}, expected {OLDEST} to {VERSION}")
    if len(bytes(first.options)) > MOST_OPTIONS or len(bytes(first.rng)) > MOST_RANDOM:
        raise FileError("its options or its random state are longer than any")
    header = msgspec.json.decode(text, type=_Header)
    if first.version < 8:
        header.problem = in_no_order(header.problem)
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


def in_no_order(problem: Problem) -> Problem:
    """Returns the problem with unordered bins, as in older formats."""
    observations = [
        o if o.edges is None else msgspec.structs.replace(o, ordered=False)
        for o in problem.observations
    ]
    return msgspec.structs.replace(problem, observations=observations)


def _restore(
    archive: zipfile.ZipFile, learners: Mapping[str, type[BaseLearner]], check: Check | None
) -> BaseLearner:
    header = _read_header(archive)
    if header.learner not in learners:
        known = ", ".join(learners)
        raise FileError(f"unknown learner {header.learner!r}, expected one of: {known}")
    if check is not None:
        check(header.problem, header.learner, header.options)
    kind: Callable[..., BaseLearner] = learners[header.learner]
    learner = kind(header.problem, **header.options)
    rounds = rounds_of(learner)
    now, strategy = rounds.now, rounds.strategy
    version, rows = header.version, header.rows
    restore_counters(archive, "", now.statistics, header.cases_counted, rows, version=version)
    restore_records(now.statistics, header.records_counted, forgets=header.forgetting is not None)
    restore_strategy(archive, strategy, version=version)
    log = header.logged, header.records, (*header.log_drawn, header.log_stake)
    restore_log(archive, rounds, *log, version=version)
    strategy.restored()
    restore_forgetting(archive, rounds, header.forgetting, version=version)
    now.round, rounds.is_over, now.opened = header.round, header.over, header.opened
    now.lengths = header.lengths
    policies = [_policy(archive, rounds, k, p) for k, p in enumerate(header.policies)]
    if header.planned:
        policies[0] = rounds.resume(policies[0])
    states = [state for state, _, _ in header.began]
    states += [state for case in header.cases for _, state in case.path]
    states += [case.start for case in header.cases]
    if max(states, default=0) >= now.lattice.size:
        raise FileError(f"there is no state {max(states)}")
    rounds.rule.resume(header.began, now.statistics)
    now.rng = generator_from_json(header.rng)
    lattice = now.lattice
    for saved in header.cases:
        case = rounds.cases[saved.id] = reopened(saved, rounds, lattice, policies)
        if case.wanted:
            rounds.looking[case.id] = case
    return learner


def _policy(archive: zipfile.ZipFile, rounds: Rounds, k: int, saved: SavedPolicy) -> Policy:
    def read(name: str, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        return load_array(archive, f"policy{k}.{name}", shape, dtype)

    return restored(saved, read, rounds.now.lattice, rounds.now.statistics)
