"""How long `aw.fit` takes for ten million logged decisions in Parquet, and how much memory.

    python benchmarks/fit.py [--check] [--rows N] [--complete]

Eight observations, up to four looks in sixty orders, three actions. Each run is a new process;
reading the same file with DuckDB's count(*), and its mean reward by action, is the yardstick.
--complete counts records in which all is known instead. Goals: under 60 s, under 2 GiB, and on a
sample the counters of recording one row after the other.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import askwise as aw

SECONDS, GIBIBYTES = 60.0, 2.0
SAMPLE = 20_000
ORDERS = 60

PROBLEM = aw.Problem(
    observations=[
        *(aw.Observation(f"test{k}", values=["low", "mid", "high"], cost=1) for k in range(4)),
        aw.Observation.binned("age", edges=[40, 50, 60], cost=1),
        aw.Observation.binned("dose", edges=[0.5, 1.5], cost=1),
        aw.Observation("grade", values=[1, 2, 3], cost=1),
        aw.Observation("region", values=["north", "south", "else"], cost=1, other="else"),
    ],
    actions=["wait", "treat", "send home"],
    max_observations=4,
)
NAMES = [o.name for o in PROBLEM.observations]

MEASURED = """
import json, resource, sys, time
import askwise as aw
problem = aw.Problem.load(sys.argv[2])
began = time.perf_counter()
fit = aw.fit(sys.argv[1], problem)
seconds = time.perf_counter() - began
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print()
print(json.dumps([seconds, peak, fit.rows]))
"""
YARDSTICK = """
import json, resource, sys, time
import duckdb
began = time.perf_counter()
rows = duckdb.sql(f"SELECT count(*) FROM '{sys.argv[1]}'").fetchall()[0][0]
if sys.argv[2] != "count":
    grouped = f"SELECT {sys.argv[2]}, count(*), avg({sys.argv[3]}) FROM '{sys.argv[1]}' GROUP BY 1"
    duckdb.sql(grouped).fetchall()
seconds = time.perf_counter() - began
print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, rows]))
"""


def cell(name: str) -> str:
    """What an observation shows, in SQL."""
    if name == "age":
        return "20 + (random() * 60)::INTEGER"
    if name == "dose":
        return "random() * 2"
    if name == "grade":
        return "1 + (random() * 2)::INTEGER"
    if name == "region":
        return "['north', 'south', 'east', 'west'][1 + floor(random() * 4)::INTEGER]"
    return "['low', 'mid', 'high'][1 + floor(random() * 3)::INTEGER]"


def write_decisions(path: Path, rows: int) -> None:
    """Looks in one of many orders, up to four of them."""
    import duckdb

    rng = np.random.default_rng(0)
    orders = [rng.permutation(NAMES).tolist() for _ in range(ORDERS)]
    seen = ", ".join(
        f"CASE WHEN list_contains(looks, '{name}') THEN {cell(name)} END AS {name}"
        for name in NAMES
    )
    duckdb.sql("SELECT setseed(0.5)").fetchall()
    duckdb.sql(
        f"COPY (SELECT {seen}, array_to_string(looks, ',') AS \"order\", "
        "['wait', 'treat', 'send home'][1 + floor(random() * 3)::INTEGER] AS action, "
        "round(random(), 3) AS reward, '0.5' AS propensity FROM ("
        f"SELECT list_resize({orders}[1 + floor(random() * {ORDERS})::INTEGER], "
        f"floor(random() * 5)::INTEGER) AS looks FROM range({rows}))) "
        f"TO '{path}' (FORMAT parquet)"
    )


def write_records(path: Path, rows: int) -> None:
    import duckdb

    seen = ", ".join(f"{cell(name)} AS {name}" for name in NAMES)
    earned = ", ".join(f'round(random(), 3) AS "{action}"' for action in PROBLEM.action_names)
    duckdb.sql(f"COPY (SELECT {seen}, {earned} FROM range({rows})) TO '{path}' (FORMAT parquet)")


def measured(code: str, *arguments: object) -> tuple[float, float, int]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return tuple(json.loads(done.stdout.splitlines()[-1]))


def is_like_one_by_one(path: Path) -> bool:
    """Whether the first rows give the counters of recording one after the other."""
    import duckdb

    rows = duckdb.sql(f"SELECT * FROM '{path}' LIMIT {SAMPLE}").to_arrow_table().to_pylist()
    statistics = aw.Statistics(aw.states.Lattice(PROBLEM))
    for row in rows:
        looks = row["order"].split(",") if row["order"] else []
        seen = {name: row[name] for name in looks}
        statistics.record(seen, row["action"], row["reward"], acquisition="sequential")
    with tempfile.TemporaryDirectory() as folder:
        sample = Path(folder) / "sample.parquet"
        duckdb.sql(f"COPY (SELECT * FROM '{path}' LIMIT {SAMPLE}) TO '{sample}' (FORMAT parquet)")
        return aw.fit(sample, PROBLEM).statistics == statistics


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--complete", action="store_true")
    parser.add_argument("--rows", type=int, default=10_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="askwise-") as folder:
        log, problem = Path(folder) / "log.parquet", Path(folder) / "problem.yaml"
        PROBLEM.save(problem)
        (write_records if options.complete else write_decisions)(log, options.rows)
        grouped = ("wait", "treat") if options.complete else ("action", "reward")
        print(f"{options.rows:,} rows, {log.stat().st_size / 2**20:.0f} MiB of Parquet")
        runs = {
            "DuckDB, count(*)": measured(YARDSTICK, log, "count"),
            "DuckDB, one mean": measured(YARDSTICK, log, *grouped),
            "aw.fit": measured(MEASURED, log, problem),
        }
        for name, (seconds, peak, rows) in runs.items():
            print(f"{name:<17} {seconds:6.2f} s  {peak:.2f} GiB  {rows:,} rows")
        seconds, peak, rows = runs["aw.fit"]
        is_met = seconds < SECONDS and peak < GIBIBYTES and rows == options.rows
        if not options.complete:
            is_equal = is_like_one_by_one(log)
            print(f"counters of {SAMPLE:,} rows one by one: {'equal' if is_equal else 'DIFFERENT'}")
            is_met = is_met and is_equal
    goal = f"under {SECONDS:.0f} s and {GIBIBYTES:.0f} GiB"
    print(f"goal: {goal}: {'met' if is_met else 'MISSED'}")
    return int(options.check and not is_met)


if __name__ == "__main__":
    sys.exit(main())
