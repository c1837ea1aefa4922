"""Numbers for Prometheus: counted with plain dictionaries, turned into its families when asked."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from typing import Any

from askwise.service.backend.readiness import Readiness
from askwise.service.decisions.writer import Writer
from askwise.service.ledger.rows import Project

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Seconds."""

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counts what this process did; each of several workers has its own."""

    def __init__(self, worker: int, writer: Writer, readiness: Readiness) -> None:
        self.worker = str(worker)
        self._writer = writer
        self._readiness = readiness
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets = [0] * (len(BOUNDS) + 1)
        self._seconds = 0.0

    def count_answer(self, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered, and how long that took."""
        self._requests[route, status] += 1
        self._buckets[bisect_left(BOUNDS, seconds)] += 1
        self._seconds += seconds

    def text(self, projects: list[Project]) -> bytes:
        """All metrics, in the text format of Prometheus."""
        from prometheus_client import CollectorRegistry, generate_latest

        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Collector(list(self._families(projects))))
        return generate_latest(registry)

    def _families(self, projects: list[Project]) -> Iterator[Any]:
        from prometheus_client.core import (
            CounterMetricFamily,
            GaugeMetricFamily,
            HistogramMetricFamily,
        )

        worker = self.worker
        requests = CounterMetricFamily(
            "askwise_requests", "Requests answered.", labels=["worker", "route", "status"]
        )
        for (route, status), count in sorted(self._requests.items()):
            requests.add_metric([worker, route, str(status)], count)
        yield requests
        seconds = HistogramMetricFamily(
            "askwise_request_seconds", "From the last byte in to the answer.", labels=["worker"]
        )
        total, buckets = 0, []
        for bound, count in zip((*map(str, BOUNDS), "+Inf"), self._buckets, strict=True):
            total += count
            buckets.append((bound, total))
        seconds.add_metric([worker], buckets, self._seconds)
        yield seconds
        for name, text, value in (
            ("askwise_commits", "Transactions committed.", self._writer.groups),
            ("askwise_committed_requests", "Requests in them.", self._writer.committed),
        ):
            family = CounterMetricFamily(name, text, labels=["worker"])
            family.add_metric([worker], value)
            yield family
        for name, text, value in (
            ("askwise_waiting", "Requests that wait.", self._writer.waiting),
            ("askwise_ready", "Whether it can decide.", not self._readiness.obstacles()),
        ):
            gauge = GaugeMetricFamily(name, text, labels=["worker"])
            gauge.add_metric([worker], value)
            yield gauge
        for name, text, of in (
            ("askwise_cases", "Cases opened.", "opened"),
            ("askwise_events", "Events in the ledger.", "seq"),
            ("askwise_policy_version", "The version of the policy.", "version"),
            ("askwise_planned_events", "Events that the policy was planned with.", "watermark"),
        ):
            gauge = GaugeMetricFamily(name, text, labels=["project"])
            for project in projects:
                gauge.add_metric([project.name], getattr(project, of))
            yield gauge
        late, unreadable = set(self._readiness.late), set(self._readiness.unreadable)
        failed = {project.name for project in projects if project.failure}
        for name, text, which in (
            ("askwise_plan_failed", "Whether the newest plan failed.", failed),
            ("askwise_plan_late", "Whether it waits for a plan, and should not.", late),
            ("askwise_policy_unreadable", "Whether its newest policy cannot be read.", unreadable),
        ):
            gauge = GaugeMetricFamily(name, text, labels=["project"])
            for project in projects:
                gauge.add_metric([project.name], project.name in which)
            yield gauge


class _Collector:
    def __init__(self, families: list[Any]) -> None:
        self._families = families

    def collect(self) -> list[Any]:
        """As the registry asks for it."""
        return self._families
