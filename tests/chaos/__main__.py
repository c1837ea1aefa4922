"""python -m chaos: kill `askwise serve` many times, and say what is left."""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

import uvloop

from chaos.databases import Database, Postgres, Sqlite, postgres_server
from chaos.run import Goal, Outcome, run


def main() -> int:
    """1 if anything was lost, doubled or contradicted, or the goal was not reached."""
    parser = argparse.ArgumentParser(prog="chaos", description=__doc__)
    parser.add_argument("--db", choices=["sqlite", "postgresql", "both"], default="both")
    parser.add_argument("--kills", type=int, default=200, help="on each database")
    parser.add_argument("--events", type=int, default=100_000, help="acknowledged, on each")
    parser.add_argument("--seconds", type=float, default=3600, help="at most, on each")
    parser.add_argument("--calm", type=float, default=0.7, help="seconds between two kills")
    parser.add_argument("--held", type=int, default=6, help="cases of a patient, and of a batch")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    goal = Goal(
        given.kills,
        given.events,
        given.seconds,
        migrations=10,
        held=given.held,
        calm=given.calm,
        thinned=1,
    )
    names = ["sqlite", "postgresql"] if given.db == "both" else [given.db]
    is_well = True
    for name in names:
        print(
            f"{name}, seed {given.seed}: {goal.kills:,} kills, {goal.events:,} events", flush=True
        )
        with tempfile.TemporaryDirectory(prefix="askwise-chaos") as folder:
            outcome = on(name, Path(folder), given.seed, goal)
        print(summary(outcome), flush=True)
        is_well &= not outcome.wrong
    return int(not is_well)


def on(name: str, folder: Path, seed: int, goal: Goal) -> Outcome:
    """A run on a new database of this kind."""
    if name == "sqlite":
        return _run(Sqlite(folder), folder, seed, goal)
    with postgres_server() as server:
        return _run(Postgres(server), folder, seed, goal)


def _run(database: Database, folder: Path, seed: int, goal: Goal) -> Outcome:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        outcome = runner.run(run(database, folder, seed, goal))
    database.close()
    return outcome


def summary(outcome: Outcome) -> str:
    """What happened, in a few lines."""
    record, reaper = outcome.record, outcome.reaper
    counts = ", ".join(f"{n:,} {what}" for what, n in sorted(record.counts.items()))
    kills = ", ".join(f"{how} {n:,}" for how, n in reaper.kills.most_common())
    operated = ", ".join(f"{n:,} {what}" for what, n in sorted(outcome.operated.items()))
    lines = [
        f"  {outcome.kills:,} kills in {outcome.seconds:,.0f} s, {reaper.starts:,} starts: {kills}",
        f"  {outcome.events:,} events acknowledged, {len(record.refused):,} refused, "
        f"{len(record.abandoned):,} given up; {counts}",
        f"  meanwhile {operated}",
    ]
    if outcome.wrong:
        shown = [f"  WRONG: {what}" for what in outcome.wrong[:20]]
        return "\n".join([*lines, *shown, f"  {len(outcome.wrong):,} things are wrong"])
    return "\n".join([*lines, "  nothing lost, nothing doubled, counters equal events"])


if __name__ == "__main__":
    sys.exit(main())
