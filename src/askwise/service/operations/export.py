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
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from askwise._support.documents import prepare
from askwise.errors import LedgerError
from askwise.learners.learner import BaseLearner
from askwise.problem import Problem
from askwise.service.api.messages import CaseNumber, Key, Name
from askwise.service.api.served_learners import new_learner
from askwise.service.api.sizes import check_size
from askwise.service.decisions.replay import Replay
from askwise.service.ledger import open_ledger
from askwise.service.ledger.contract import Ledger, Transaction
from askwise.service.ledger.event_pages import pages_of_events
from askwise.service.ledger.rows import NO_PROJECT, Event, Head, Increment, Project, StoredPolicy
from askwise.service.replanning.policy_versions import PolicyVersion, from_blob, learner_of

FORMAT = 1
PAGE = 1000

MOST_LINE = 256 << 20
"""Bytes of a line: a policy of the largest project that is served is shorter."""

_Number = Annotated[int, Meta(ge=0, le=2**62)]


class _Project(msgspec.Struct, tag="project", forbid_unknown_fields=True):
    format: int
    name: Name
    problem: msgspec.Raw
    learner: str
    options: msgspec.Raw
    seed: _Number
    created: _Number
    version: _Number
    watermark: _Number
    planned: _Number


class _Policy(msgspec.Struct, tag="policy", forbid_unknown_fields=True):
    version: _Number
    watermark: _Number
    at: _Number
    blob: bytes


class _Event(msgspec.Struct, tag="event", forbid_unknown_fields=True):
    seq: _Number
    key: Key
    kind: Literal["open", "observe", "act", "reward", "cancel"]
    case: CaseNumber
    body: msgspec.Raw
    status: _Number
    answer: msgspec.Raw
    at: _Number


class _End(msgspec.Struct, tag="end", forbid_unknown_fields=True):
    policies: _Number
    events: _Number
    sha256: str


_Line = _Project | _Policy | _Event | _End


def export_project(ledger: Ledger, name: str) -> Iterator[bytes]:
    """The lines of a project as it stands."""
    project = ledger.project(name)
    if project is None:
        raise LedgerError(f"there is no project {name!r}")
    digest, policies, events = hashlib.sha256(), 0, 0

    def line(what: _Line) -> bytes:
        text = msgspec.json.encode(what) + b"\n"
        digest.update(text)
        return text

    raw = msgspec.Raw
    yield line(
        _Project(
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
            yield line(_Policy(policy.version, policy.watermark, policy.at, policy.blob))
    for page in pages_of_events(ledger, project, 0):
        for e in page:
            events += 1
            body, answer = raw(e.body), raw(e.answer)
            kind: Any = e.kind  # the ledger knows no others
            yield line(
                _Event(
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
    yield msgspec.json.encode(_End(policies, events, digest.hexdigest())) + b"\n"


def import_project(ledger: Ledger, lines: Iterable[bytes]) -> tuple[str, int]:
    """Write the project of these lines; its name and how many events. All of it, or nothing."""
    read = _checked(lines)
    first = next(read, None)
    if not isinstance(first, _Project):
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
            if isinstance(line, _Policy):
                importing.take_policy(line)
            elif isinstance(line, _Event):
                importing.take_event(line)
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
            return import_project(ledger, iter(lambda: file.readline(MOST_LINE + 1), b""))
        finally:
            ledger.close()


def _problem_of(line: _Project) -> tuple[bytes, bytes]:
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
        self._replay = Replay(project, self._find_version)

    def take_policy(self, line: _Policy) -> None:
        """Take in one of its policies; with the first one the project is created."""
        policy = StoredPolicy(
            version=line.version, watermark=line.watermark, fence=0, at=line.at, blob=line.blob
        )
        if self._head.seq or self._page:
            raise LedgerError("the file has a policy after events")
        if line.version in self._blobs:
            raise LedgerError(f"the file has two policies of version {line.version}")
        self._check_learner(line.version, from_blob(line.blob, check_size))
        if self._blobs:
            self._transaction.add_policy(self._number, policy)
        else:
            number = self._transaction.create(self._project, policy)
            if number is None:
                raise LedgerError(f"there is a project {self._project.name!r} already")
            self._number = number
        self._blobs[line.version] = line.blob

    def take_event(self, line: _Event) -> None:
        """Take in the next event of the file."""
        if not self._blobs:
            raise LedgerError("the file has events before policies")
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

    def finish(self) -> int:
        """How many events there were, now that all of them are written."""
        if self._project.version not in self._blobs:
            raise LedgerError("the file has not the policy that it says is current")
        self._write_page()
        if self._project.watermark > self._head.seq:
            raise LedgerError("the file has fewer events than its policy was planned with")
        self._find_version(self._project.version)  # cases will follow it, even if none does yet
        return self._head.seq

    def _write_page(self) -> None:
        replay, page, head = self._replay, self._page, self._head
        before = dict(replay.counters)
        replay.replay(page)
        if replay.differences:
            raise LedgerError(f"the file does not fit together: {replay.differences[0]}")
        opened = sum(event.kind == "open" for event in page)
        self._head = Head(head.seq + len(page), head.opened + opened, head.version)
        cases = [replay.cases[number] for number in sorted({event.case for event in page})]
        added = [
            Increment(*cell, amount - before.get(cell, 0))
            for cell, amount in sorted(replay.counters.items())
            if amount != before.get(cell, 0)
        ]
        self._transaction.append(self._number, self._head, page, cases, added)
        page.clear()

    def _find_version(self, version: int) -> PolicyVersion:
        if version not in self._versions:
            if version not in self._blobs:
                raise LedgerError(f"the file has no policy of version {version}")
            learner = from_blob(self._blobs[version])
            self._versions[version] = PolicyVersion(version, learner, learner.policy)
        return self._versions[version]

    def _check_learner(self, version: int, learner: BaseLearner) -> None:
        """A policy must be one of this problem: its states are numbers that mean nothing else."""
        expected, lattice = learner_of(self._project), learner.statistics.lattice
        if learner.name != expected.name or lattice != expected.statistics.lattice:
            raise LedgerError(f"the file's policy of version {version} is of another problem")


def _event(line: _Event) -> Event:
    return Event(
        seq=line.seq,
        key=line.key,
        kind=line.kind,
        case=line.case,
        body=bytes(line.body),
        status=line.status,
        answer=bytes(line.answer),
        at=line.at,
    )


def _checked(lines: Iterable[bytes]) -> Iterator[_Project | _Policy | _Event]:
    """The lines, which must be as many as the last one says, and have its SHA-256."""
    digest = hashlib.sha256()
    seen: dict[Any, int] = {_Policy: 0, _Event: 0}
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(_Line)
    for number, text in enumerate(lines, start=1):
        if len(text) > MOST_LINE:
            raise LedgerError(f"line {number} is longer than {MOST_LINE:,} bytes")
        try:
            line = decoder.decode(text)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise LedgerError(f"line {number}: {error}") from None
        if isinstance(line, _End):
            found = _End(seen[_Policy], seen[_Event], digest.hexdigest())
            if found != line:
                raise LedgerError("the file is damaged: it is not what its last line says")
            return
        digest.update(text)
        if isinstance(line, _Event) and line.seq != seen[_Event] + 1:
            raise LedgerError(f"line {number}: event {seen[_Event] + 1} is missing")
        if type(line) in seen:
            seen[type(line)] += 1
        yield line
    raise LedgerError("the file is cut off: its last line is missing")


prepare(_Line)
