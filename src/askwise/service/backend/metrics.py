"""Numbers for Prometheus, of all workers together.

A worker counts with plain dictionaries. Several times a second it writes its counts to a folder
that all workers of a server share. The worker that gets a request for /metrics answers for all. It
uses its own current counts, and the last written counts of the others.
"""

from __future__ import annotations

import contextlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from askwise.service.backend.readiness import Readiness
from askwise.service.decisions.writer import Writer
from askwise.service.ledger.rows import Lease, Project

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Seconds."""

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class WorkerCounts(msgspec.Struct):
    """The counts of one worker."""

    worker: str
    requests: list[tuple[str, int, int]]
    """Route, status, how many."""
    buckets: list[int]
    seconds: float
    commits: int
    committed: int
    waiting: int
    ready: bool
    connections: int


class ProjectFacts(NamedTuple):
    """The facts of a project for the metrics, beside its row."""

    gain: float = 0.0
    spend: float = 0.0
    alarms: Sequence[str] = ()


class ServerFacts(NamedTuple):
    """The facts of the whole server for the metrics."""

    lease: Lease
    database: int
    """Bytes."""
    projects: dict[str, ProjectFacts]
    behind: float | None = None
    """Seconds that the read-only database is behind, if there is one that can be read."""


class Metrics:
    """Counts what this process did."""

    def __init__(self, worker: int, writer: Writer, readiness: Readiness, folder: str = "") -> None:
        self.worker = str(worker)
        self.connections: Callable[[], int] = lambda: 0
        """The number of open connections."""
        self._writer = writer
        self._readiness = readiness
        self._folder = Path(folder) if folder else None
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets = [0] * (len(BOUNDS) + 1)
        self._seconds = 0.0

    def count_answer(self, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered, and how long that took."""
        self._requests[route, status] += 1
        self._buckets[bisect_left(BOUNDS, seconds)] += 1
        self._seconds += seconds

    def leave(self) -> None:
        """Writes the counts to the shared folder."""
        if self._folder is None:
            return
        part = self._folder / f".{self.worker}.part"
        with contextlib.suppress(OSError):  # a full disk costs numbers, no more
            part.write_bytes(msgspec.json.encode(self._counts()))
            part.replace(self._folder / f"{self.worker}.json")

    def _counts(self) -> WorkerCounts:
        return WorkerCounts(
            worker=self.worker,
            requests=[(*what, count) for what, count in sorted(self._requests.items())],
            buckets=list(self._buckets),
            seconds=self._seconds,
            commits=self._writer.groups,
            committed=self._writer.committed,
            waiting=self._writer.waiting,
            ready=not self._readiness.obstacles(),
            connections=self.connections(),
        )

    def _all_counts(self) -> list[WorkerCounts]:
        found = {self.worker: self._counts()}
        for file in sorted(self._folder.glob("*.json")) if self._folder is not None else ():
            with contextlib.suppress(OSError, msgspec.MsgspecError):
                counts = msgspec.json.decode(file.read_bytes(), type=WorkerCounts)
                found.setdefault(counts.worker, counts)
        return [found[worker] for worker in sorted(found)]

    def text(self, projects: list[Project], facts: ServerFacts) -> bytes:
        """All metrics, in the text format of Prometheus."""
        from prometheus_client import CollectorRegistry, generate_latest

        registry = CollectorRegistry(auto_describe=False)
        families = [
            *worker_families(self._all_counts()),
            *self._project_families(projects, facts),
            *_server_families(facts),
        ]
        registry.register(_Collector(families))
        return generate_latest(registry)

    def _project_families(self, projects: list[Project], facts: ServerFacts) -> Iterator[Any]:
        of = facts.projects
        late, unreadable = set(self._readiness.late), set(self._readiness.unreadable)
        lags = self._readiness.lags()
        for name, text, value in (
            ("cases", "Cases opened.", lambda p: p.opened),
            ("events", "Events in the ledger.", lambda p: p.seq),
            ("policy_version", "The version of the policy.", lambda p: p.version),
            ("planned_events", "Events that the policy was planned with.", lambda p: p.watermark),
            ("unplanned_events", "Events that wait for a plan.", lambda p: p.seq - p.watermark),
            ("plan_lag_seconds", "How long they have waited.", lambda p: lags.get(p.id, 0.0)),
            ("plan_failed", "Whether the newest plan failed.", lambda p: bool(p.failure)),
            ("plan_late", "Whether it waits, and should not.", lambda p: p.name in late),
            (
                "policy_unreadable",
                "Whether its newest policy cannot be read.",
                lambda p: p.name in unreadable,
            ),
            ("gain", "What all cases gained.", lambda p: of.get(p.name, ProjectFacts()).gain),
            ("spend", "What all cases spent.", lambda p: of.get(p.name, ProjectFacts()).spend),
        ):
            yield _gauge(name, text, "project", ((p.name, value(p)) for p in projects))
        yield _gauge(
            "alarm",
            "Whether an alarm is raised; see the page of the service.",
            ("project", "alarm"),
            (((name, alarm), 1) for name, fact in of.items() for alarm in fact.alarms),
        )


def worker_families(workers: Sequence[WorkerCounts]) -> Iterator[Any]:
    """What the workers of a server have counted."""
    from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

    labels = ["worker", "route", "status"]
    requests = CounterMetricFamily("askwise_requests", "Requests answered.", labels=labels)
    seconds = HistogramMetricFamily(
        "askwise_request_seconds", "From the last byte in to the answer.", labels=["worker"]
    )
    for one in workers:
        for route, status, count in one.requests:
            requests.add_metric([one.worker, route, str(status)], count)
        total, buckets = 0, []
        for bound, count in zip((*map(str, BOUNDS), "+Inf"), one.buckets, strict=True):
            total += count
            buckets.append((bound, total))
        seconds.add_metric([one.worker], buckets, one.seconds)
    yield requests
    yield seconds
    for name, text, of in (
        ("askwise_commits", "Transactions committed.", "commits"),
        ("askwise_committed_requests", "Requests in them.", "committed"),
    ):
        family = CounterMetricFamily(name, text, labels=["worker"])
        for one in workers:
            family.add_metric([one.worker], getattr(one, of))
        yield family
    for name, text, of in (
        ("waiting", "Requests that wait.", "waiting"),
        ("ready", "Whether it can decide.", "ready"),
        ("connections", "Connections that are open.", "connections"),
    ):
        yield _gauge(name, text, "worker", ((w.worker, getattr(w, of)) for w in workers))


def _server_families(facts: ServerFacts) -> Iterator[Any]:
    lease = facts.lease
    held = [(lease.holder, lease.left / 1e6)] if lease.is_good else []
    yield _gauge("lease_seconds", "How long the planner's lease is good for.", "holder", held)
    yield _gauge("database_bytes", "The database on disk.", (), [((), facts.database)])
    if facts.behind is not None:
        text = "How far the read-only database is behind."
        yield _gauge("replica_lag_seconds", text, (), [((), facts.behind)])


def _gauge(name: str, text: str, labels: str | tuple[str, ...], values: Any) -> Any:
    from prometheus_client.core import GaugeMetricFamily

    names = [labels] if isinstance(labels, str) else list(labels)
    family = GaugeMetricFamily(f"askwise_{name}", text, labels=names)
    for key, value in values:
        family.add_metric([key] if isinstance(key, str) else list(key), float(value))
    return family


class _Collector:
    def __init__(self, families: list[Any]) -> None:
        self._families = families

    def collect(self) -> list[Any]:
        """As the registry asks for it."""
        return self._families
