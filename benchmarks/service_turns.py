"""`benchmarks/service.py --servers`: the same application under uvicorn and Granian, by turns.

Each turn starts one worker on a new SQLite file and loads it as the rest of the benchmark does. The
machine may be busy, so what counts is the ratio of turns that follow each other.
"""

import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import askwise as aw
from service_server import HERE, PROJECT, Values, serving

SERVERS = {
    "uvicorn": ["-m", "askwise", "serve", "--port", "0", "--db"],
    "granian": [str(HERE / "service_granian.py")],
}


def by_turns(problem: aw.Problem, values: Values, seconds: float, turns: int) -> None:
    """Print answers a second, singly and in batches, of every turn, and the ratio of medians."""
    rates: dict[tuple[str, str], list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="askwise") as folder:
        for turn in range(turns):
            for name, command in SERVERS.items():
                db = str(Path(folder) / f"{name}-{turn}.db")
                with serving(db, 1, command=[sys.executable, *command, db]) as server:
                    server.client.create_project(PROJECT, problem)
                    single = server.load(values, seconds)
                    batched = server.load(values, seconds, batch=1000, connections=4)
                said(f"{name}, turn {turn + 1}", single, batched)
                for kind, found in (("singly", single), ("in batches", batched)):
                    rates.setdefault((name, kind), []).append(found["rate"])
    for kind in ("singly", "in batches"):
        ours, other = (statistics.median(rates[name, kind]) for name in SERVERS)
        print(f"uvicorn / granian, {kind}: {ours:,.0f}/s / {other:,.0f}/s = {ours / other:.2f}")


def said(what: str, single: dict[str, Any], batched: dict[str, Any]) -> None:
    print(
        f"{what:<18} {single['rate']:>8,.0f}/s   p99 {single['p99'] * 1000:6.1f} ms   "
        f"{single['cost'] * 1e6:4.0f} µs of a processor each;   "
        f"in batches {batched['rate']:>8,.0f}/s",
        flush=True,
    )
