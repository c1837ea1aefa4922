"""A project as a file of lines: from one database to another, with nothing lost.

The first line is the project, then come its policies and its events, and the last line says how
many there were and what their SHA-256 is. Cases and counters are not in the file: they follow from
the events, and are worked out again where it is read. Tokens stay where they are.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from askwise._support.progress import ProgressBar
from askwise.errors import AskwiseError, LedgerError
from askwise.learners.learner import BaseLearner
from askwise.problem import Problem
from askwise.service.api.served_learners import new_learner
from askwise.service.api.sizes import check_size
from askwise.service.decisions.erasing import ERASE
from askwise.service.decisions.replay import Replay
from askwise.service.ledger import open_ledger
from askwise.service.ledger.contract import Ledger, Transaction
from askwise.service.ledger.counters import ERASED
from askwise.service.ledger.event_pages import watched_pages
from askwise.service.ledger.rows import NO_PROJECT, Event, Head, Increment, Project, StoredPolicy
from askwise.service.operations.export_lines import (
    EndLine,
    ErasedLine,
    EventLine,
    Line,
    PolicyLine,
    ProjectLine,
)
from askwise.service.replanning.memory import FORGET
from askwise.service.replanning.policy_versions import (
    AnyVersion,
    PolicyVersion,
    from_blob,
    learner_of,
)
from askwise.service.replanning.prices import PRICES
from askwise.service.replanning.thinning import THIN, read_thinned
from askwise.states import Lattice

FORMAT = 1
PAGE = 1000

MOST_LINE = 256 << 20
"""Bytes of a line: a policy of the largest project that is served is shorter."""


def export_project(ledger: Ledger, name: str) -> Iterator[bytes]:
    """The lines of a project as it stands."""
    project = ledger.project(name)
    if project is None:
        raise LedgerError(f"there is no project {name!r}")
    digest, policies, events = hashlib.sha256(), 0, 0

    def line(what: Line) -> bytes:
        text = msgspec.json.encode(what) + b"\n"
        digest.update(text)
        return text

    raw = msgspec.Raw
    yield line(
        ProjectLine(
            format=FORMAT,
            name=project.name,
            problem=raw(project.problem),
            learner=project.learner,
            options=raw(project.options),
            seed=project.seed,
            created=project.created,
            version=project.version,
            watermark=project.watermark,
            planned=project.planned,
        )
    )
    for policy in ledger.policies(project.id):
        if policy.version <= project.version:
            policies += 1
            yield line(PolicyLine(policy.version, policy.watermark, policy.at, policy.blob))
    for page in watched_pages(ledger, project):
        for e in page:
            events += 1
            body, answer = raw(e.body or b"null"), raw(e.answer or b"null")
            kind: Any = e.kind  # the ledger knows no others
            yield line(
                EventLine(
                    seq=e.seq,
                    key=e.key,
                    kind=kind,
                    case=e.case,
                    body=body,
                    status=e.status,
                    answer=answer,
                    at=e.at,
                )
            )
    erased = [row for row in ledger.snapshot(project.id).counters if row.kind.startswith(ERASED)]
    if erased:
        yield line(ErasedLine([(r.kind, r.cell, r.place, r.amount) for r in erased]))
    yield msgspec.json.encode(EndLine(policies, events, digest.hexdigest())) + b"\n"


def import_project(ledger: Ledger, lines: Iterable[bytes]) -> tuple[str, int]:
    """Write the project of these lines; its name and how many events. All of it, or nothing."""
    read = _checked(lines)
    first = next(read, None)
    if not isinstance(first, ProjectLine):
        raise LedgerError("the file does not begin with a project")
    if first.format != FORMAT:
        raise LedgerError(f"the file is of format {first.format}, expected {FORMAT}")
    problem, options = _problem_of(first)
    project = Project(
        id=0,
        name=first.name,
        problem=problem,
        learner=first.learner,
        options=options,
        seed=first.seed,
        created=first.created,
        seq=0,
        opened=0,
        version=first.version,
        watermark=first.watermark,
        planned=first.planned,
        failure="",
    )
    with ledger.transaction() as transaction:
        importing = _Import(project, transaction)
        for line in read:
            if isinstance(line, PolicyLine):
                importing.take_policy(line)
            elif isinstance(line, EventLine):
                importing.take_event(line)
            elif isinstance(line, ErasedLine):
                importing.take_erased(line)
        return project.name, importing.finish()


def import_file(db: str, path: Path) -> tuple[str, int]:
    """`import_project` from a file; a SQLite file is there afterwards only if all went well."""
    target = Path(db)
    if "://" in db or target.exists():
        return _import_lines(db, path)
    # beside it first: what is refused leaves nothing behind
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        done = _import_lines(str(partial), path)
        os.link(partial, target)  # unlike a renaming it never replaces what came meanwhile
    finally:
        for leftover in partial.parent.glob(f"{partial.name}*"):
            leftover.unlink()
    return done


def _import_lines(db: str, path: Path) -> tuple[str, int]:
    with path.open("rb") as file:
        ledger = open_ledger(db)
        try:
            with ProgressBar("bytes", path.stat().st_size) as progress:
                return import_project(ledger, _lines_of(file, progress))
        finally:
            ledger.close()


def _lines_of(file: BinaryIO, progress: ProgressBar) -> Iterator[bytes]:
    for line in iter(lambda: file.readline(MOST_LINE + 1), b""):
        yield line
        progress.advance(len(line))


def _problem_of(line: ProjectLine) -> tuple[bytes, bytes]:
    """The problem and the options as the service writes them, checked as it checks them."""
    try:
        problem = msgspec.json.decode(line.problem, type=Problem)
        options = msgspec.json.decode(line.options, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise LedgerError(f"line 1: {error}") from None
    check_size(problem, line.learner, options)
    new_learner(problem, line.learner, options, line.seed)
    return msgspec.json.encode(problem), msgspec.json.encode(options)


class _Import:
    """A project that is being written: its cases and counters are worked out on the way."""

    def __init__(self, project: Project, transaction: Transaction) -> None:
        transaction.lock([NO_PROJECT])
        self._project = project
        self._transaction = transaction
        self._number = 0
        self._blobs: dict[int, bytes] = {}
        self._versions: dict[int, PolicyVersion] = {}
        self._page: list[Event] = []
        self._keys: set[str] = set()
        self._opened = 0
        self._head = Head(0, 0, project.version)
        self._lattice = learner_of(project).statistics.lattice
        self._replay = Replay(project, self._find_version)

    def take_policy(self, line: PolicyLine) -> None:
        """Take in one of its policies; with the first one the project is created."""
        policy = StoredPolicy(
            version=line.version, watermark=line.watermark, fence=0, at=line.at, blob=line.blob
        )
        if self._head.seq or self._page:
            raise LedgerError("the file has a policy after events")
        if line.version in self._blobs:
            raise LedgerError(f"the file has two policies of version {line.version}")
        if line.blob.startswith(THIN):
            self._check_thinned(line)
        else:
            self._check_learner(line.version, from_blob(line.blob, check_size))
        if self._blobs:
            self._transaction.add_policy(self._number, policy)
        else:
            number = self._transaction.create(self._project, policy)
            if number is None:
                raise LedgerError(f"there is a project {self._project.name!r} already")
            self._number = number
        self._blobs[line.version] = line.blob

    def take_event(self, line: EventLine) -> None:
        """Take in the next event of the file."""
        if not self._blobs:
            raise LedgerError("the file has events before policies")
        is_about_case = line.kind not in (FORGET, PRICES, ERASE)
        is_ours = line.kind == FORGET or bytes(line.body) == b"null"
        if is_about_case != bool(line.case) or is_ours != (" " in line.key):
            raise LedgerError(f"event {line.seq} is not one that could be")
        if line.key in self._keys:
            raise LedgerError(f"the file has two events with the key {line.key!r}")
        if line.kind == "open":
            self._opened += 1
            if line.case != self._opened:
                raise LedgerError(f"event {line.seq} opens case {line.case}, not {self._opened}")
        self._keys.add(line.key)
        self._page.append(_event(line))
        if len(self._page) == PAGE:
            self._write_page()

    def take_erased(self, line: ErasedLine) -> None:
        """Take in what erased cases had counted, once all events were read."""
        self._write_page()
        rows = [Increment(*row) for row in line.counters]
        if any(not row.kind.startswith(f"{ERASED} ") for row in rows):
            raise LedgerError("the file says of counters that they were erased, and they were not")
        before = dict(self._replay.counters)
        self._replay.take_in_erased(rows)
        self._transaction.append(self._number, self._head, [], [], self._added_since(before))

    def _added_since(self, before: dict[tuple[str, int, int], int]) -> list[Increment]:
        now = self._replay.counters
        return [
            Increment(*cell, now.get(cell, 0) - before.get(cell, 0))
            for cell in sorted(before.keys() | now.keys())
            if now.get(cell, 0) != before.get(cell, 0)
        ]

    def finish(self) -> int:
        """Returns the number of events after all of them are written."""
        if self._project.version not in self._blobs:
            raise LedgerError("the file has not the policy that it says is current")
        self._write_page()
        if self._project.watermark > self._head.seq:
            raise LedgerError("the file has fewer events than its policy was planned with")
        if self._blobs[self._project.version].startswith(THIN):
            raise LedgerError("the file has not the policy that cases will follow")
        self._find_version(self._lattice, self._project.version)  # even if no case does yet
        return self._head.seq

    def _write_page(self) -> None:
        replay, page, head = self._replay, self._page, self._head
        before = dict(replay.counters)
        replay.replay(page)
        if replay.differences:
            raise LedgerError(f"the file does not fit together: {replay.differences[0]}")
        opened = sum(event.kind == "open" for event in page)
        self._head = Head(head.seq + len(page), head.opened + opened, head.version)
        cases = [replay.cases[number] for number in sorted({e.case for e in page if e.case})]
        added = self._added_since(before)
        self._transaction.append(self._number, self._head, page, cases, added)
        page.clear()

    def _find_version(self, lattice: Lattice, version: int) -> AnyVersion:
        if version not in self._versions:
            if version not in self._blobs:
                raise LedgerError(f"the file has no policy of version {version}")
            blob = self._blobs[version]
            if blob.startswith(THIN):
                return read_thinned(version, blob, lattice)
            learner = from_blob(blob)
            self._versions[version] = PolicyVersion(version, learner, learner.policy)
        return self._versions[version]

    def _check_thinned(self, line: PolicyLine) -> None:
        """Checks that a thinned policy has prices only."""
        try:
            read_thinned(line.version, line.blob, self._lattice)
        except (msgspec.MsgspecError, ValueError, AskwiseError) as error:
            why = f"the file's policy of version {line.version} cannot be read"
            raise LedgerError(f"{why}: {error}") from None

    def _check_learner(self, version: int, learner: BaseLearner) -> None:
        """A policy must be one of this problem: its states are numbers that mean nothing else."""
        expected, lattice = learner_of(self._project), learner.statistics.lattice
        if learner.name != expected.name or lattice != expected.statistics.lattice:
            raise LedgerError(f"the file's policy of version {version} is of another problem")


def _content(raw: msgspec.Raw) -> bytes:
    """The bytes of a body; those that were erased are null in the file."""
    return b"" if bytes(raw) == b"null" else bytes(raw)


def _event(line: EventLine) -> Event:
    return Event(
        seq=line.seq,
        key=line.key,
        kind=line.kind,
        case=line.case,
        body=_content(line.body),
        status=line.status,
        answer=_content(line.answer),
        at=line.at,
    )


def _checked(lines: Iterable[bytes]) -> Iterator[ProjectLine | PolicyLine | EventLine | ErasedLine]:
    """The lines, which must be as many as the last one says, and have its SHA-256."""
    digest = hashlib.sha256()
    seen: dict[Any, int] = {PolicyLine: 0, EventLine: 0}
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Line)
    for number, text in enumerate(lines, start=1):
        if len(text) > MOST_LINE:
            raise LedgerError(f"line {number} is longer than {MOST_LINE:,} bytes")
        try:
            line = decoder.decode(text)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise LedgerError(f"line {number}: {error}") from None
        if isinstance(line, EndLine):
            found = EndLine(seen[PolicyLine], seen[EventLine], digest.hexdigest())
            if found != line:
                raise LedgerError("the file is damaged: it is not what its last line says")
            return
        digest.update(text)
        if isinstance(line, EventLine) and line.seq != seen[EventLine] + 1:
            raise LedgerError(f"line {number}: event {seen[EventLine] + 1} is missing")
        if type(line) in seen:
            seen[type(line)] += 1
        yield line
    raise LedgerError("the file is cut off: its last line is missing")
