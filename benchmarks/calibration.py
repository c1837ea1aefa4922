"""Do the numbers hold? Gains, worth and break-even prices against the truth of random populations.

    python benchmarks/calibration.py --quick      # few populations and cases
    python benchmarks/calibration.py --check      # 200 and up to 100,000 cases; fails if one misses
    python benchmarks/calibration.py --check --rows rows.jsonl     # goes on where it was stopped
    python benchmarks/calibration.py --check --rows rows.jsonl --minutes 60    # as many as that
    python benchmarks/calibration.py --quick --stake 0.3           # of cases that count less

Populations are drawn by seed, from 3,000 on; the others chose what docs/decisions-learning.md says.
They are random models, the families of `families_small.py`, shapes with something given, with
panels and refunds, and 20 or more observations (`families_many.py`); they come by turns, so that
some of them have all shapes. Each is learned online, and from logs of as many complete records, and
of decisions of a random policy; every fourth one also from 100,000 cases. The truth is `aw.worth`
of the model. Every population has random numbers of its own, and every action of a record its own
luck: cases that share it err alike.

An interval says 95 %. It is asked to cover the truth in 93 to 98 % of what it is said of. The error
of that share is reckoned over populations, since the observations of one err together. Beside it is
the share where the truth is not 0: an interval that begins at 0 always covers 0. What is
said to be still to learn is asked to be what the recommended policy loses, on average over the
populations, within twice the standard error of that mean.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import askwise as aw
from askwise.estimation.evidence import Beliefs
from askwise.explain import Worth
from askwise.policy.trees import Act
from calibration_populations import OWN_KINDS, Subject, seed_of, subject
from families_many import FAMILIES as MANY
from families_small import FAMILIES

REPORTED = 3_000
CASES = 1_000, 5_000, 20_000, 100_000
MOST_OF_ALL = 20_000
"""Of more cases than that, only every fourth population is learned."""
COVERED = 0.93, 0.98
MOST_BIAS = 0.2
"""Of what an observation adds, in units of half the mean interval."""
MOST_ERROR = 1 / 3
"""Of the break-even price after 5,000 cases, beside that of plugged-in means."""
JUDGED = 100_000
"""Cases by which a policy for many observations is judged."""


class Row(NamedTuple):
    """One number that was said, and the truth."""

    kind: str
    seed: int
    how: str
    cases: int
    what: str
    truth: float
    value: float
    low: float
    high: float
    plugged_in: float


class Task(NamedTuple):
    """A population to learn, and from how many cases at most."""

    kind: str
    seed: int
    most: int
    stake: float = 1.0

    def rows(self) -> list[Row]:
        """All that is said of it."""
        one = subject(self.kind, self.seed)
        cases = tuple(n for n in CASES if n <= self.most)
        return [row for learned in learners(one, cases) for row in rows(one, *learned, self.stake)]


def tasks(number: int, first: int, many: int, most: int, stake: float) -> list[Task]:
    """So many, the kinds by turns; `many` of them have 20 observations or more, evenly spread."""
    small, large = [*OWN_KINDS, *FAMILIES], list(MANY)
    named = [(small[k % len(small)], first + k // len(small)) for k in range(number - many)]
    for k in range(many):
        named.insert((k + 1) * number // many - 1, (large[k % len(large)], first + k // len(large)))
    return [
        Task(*one, most if k % 4 == 0 else min(most, MOST_OF_ALL), stake)
        for k, one in enumerate(named)
    ]


# --- what is said of them ------------------------------------------------------------------------


def learners(one: Subject, cases: tuple[int, ...]) -> Iterator[tuple[str, int, Any]]:
    """The population learned online, and from logs: how, from how many cases, and the learner."""
    learner, done = aw.Learner(one.problem, rng=np.random.default_rng(seed_of(one))), 0
    for number in cases:
        aw.simulate(
            learner,
            one.environment,
            steps=number - done,
            rng=np.random.default_rng(seed_of(one, number)),
        )
        done = number
        yield "online", number, learner
    for number in cases:
        rng = np.random.default_rng(seed_of(one, number, 1))
        columns, rewards = records(one, rng, number)
        yield "records", number, aw.fit({**columns, **rewards}, one.problem, rng=0)
        if one.kind not in MANY:
            yield (
                "decisions",
                number,
                aw.fit(
                    decisions(one, rng, columns, rewards),
                    one.problem,
                    acquisition="simultaneous",
                    rng=0,
                ),
            )


def records(
    one: Subject, rng: np.random.Generator, number: int
) -> tuple[dict[str, list[Any]], dict[str, list[float]]]:
    """Complete records: what was seen, and what each action would have earned."""
    draws = one.environment.draw(rng, number)
    columns = {
        o.name: [o.outcomes[x] for x in draws.values[:, i].tolist()]
        for i, o in enumerate(one.problem.observations)
    }
    places = list(range(len(one.problem.observations)))
    places = list(getattr(one.environment, "places", places))
    mean = one.model.reward[tuple(draws.values[:, places].T)]
    rewards = (rng.random(mean.shape) < mean).astype(np.float64)
    earned = {a: rewards[:, k].tolist() for k, a in enumerate(one.problem.action_names)}
    return columns, earned


def decisions(
    one: Subject,
    rng: np.random.Generator,
    columns: dict[str, list[Any]],
    rewards: dict[str, list[float]],
) -> dict[str, list[Any]]:
    """The same cases, of which any set was looked at, and any action taken."""
    problem, number = one.problem, len(next(iter(rewards.values())))
    names = [o.name for o in problem.observations if not o.given]
    # the rank of every observation in an order of its own for each case, and how many are seen
    rank = rng.random((number, len(names))).argsort(axis=1).argsort(axis=1)
    is_seen = rank < rng.integers(problem.m + 1, size=number)[:, None]
    log: dict[str, list[Any]] = {name: list(column) for name, column in columns.items()}
    for k, name in enumerate(names):
        shown = ("unavailable" if value is None else value for value in columns[name])
        log[name] = [v if seen else None for v, seen in zip(shown, is_seen[:, k], strict=True)]
    taken = rng.integers(len(problem.actions), size=number).tolist()
    log["action"] = [problem.action_names[a] for a in taken]
    log["reward"] = [rewards[name][t] for t, name in enumerate(log["action"])]
    return log


def rows(one: Subject, how: str, cases: int, source: Any, stake: float) -> Iterator[Row]:
    """All that is said of a population after so many cases, of cases of a stake."""
    said = aw.worth(source, stake=stake)
    truth = aw.worth(one.model, acquisition=said.acquisition, stake=stake)
    known = source.evidence()
    means = None
    if isinstance(known, Beliefs):
        means = aw.worth(
            Beliefs(known.lattice, known.probability, known.reward),
            acquisition=said.acquisition,
            stake=stake,
        )
    reason = said.policy.tree().root.reason
    assert reason is not None
    true_gain, half = judged(one, said.policy), 1.96 * reason.variance**0.5
    base = one.kind, one.seed, how, cases
    gain = said.gain
    yield Row(*base, "gain", true_gain, gain, gain - half, gain + half, gain)
    learn = said.still_to_learn
    if learn is not None:
        yield Row(*base, "still to learn", max(0.0, truth.gain - true_gain), *learn, 0.0)
    for row in said:
        adds, price = true_worth(truth, row.name)
        plain = None if means is None else means[row.name]
        old = (row.adds, row.break_even) if plain is None else (plain.adds, plain.break_even)
        yield Row(*base, "adds", adds, row.adds, row.adds_low, row.adds_high, old[0])
        ends = row.break_even_low, row.break_even_high
        yield Row(*base, "break-even", price, row.break_even, *ends, old[1])


def true_worth(truth: Worth, name: str) -> tuple[float, float]:
    """What an observation adds, and its break-even price; nothing, if it does not matter."""
    for row in truth:
        if row.name == name:
            return row.adds, row.break_even
    return 0.0, 0.0


def judged(one: Subject, policy: aw.Policy) -> float:
    """What a policy gains in truth; by many cases, if there is no model of all observations."""
    if one.kind not in MANY:
        return policy.evaluate(one.model)
    values = one.environment.draw(np.random.default_rng(one.seed), JUDGED).values
    reward = one.model.reward[tuple(values[:, list(one.environment.places)].T)]
    names = [o.name for o in one.problem.observations]

    def gain(node: Any, which: Any, spent: float) -> float:
        if isinstance(node, Act):
            earned = reward[which, one.problem.action_names.index(node.action)]
            return float((100.0 * policy.lattice.stake * earned - spent).sum())
        i = names.index(node.observation)
        total = 0.0
        for labels, child in node.branches:
            places = [one.problem.observations[i].outcomes.index(v) for v in labels]
            total += gain(child, which[np.isin(values[which, i], places)], spent + node.cost)
        return total

    return gain(policy.tree().root, np.arange(JUDGED), 0.0) / JUDGED


# --- the report ----------------------------------------------------------------------------------


def report(found: list[Row]) -> list[str]:
    """Print what was measured; returns what misses."""
    missed = []
    for how in ("online", "records", "decisions"):
        for cases in sorted({row.cases for row in found if row.how == how}):
            for what in ("gain", "adds", "break-even", "still to learn"):
                part = [r for r in found if (r.how, r.cases, r.what) == (how, cases, what)]
                if part:
                    missed += line(how, cases, what, part)
    return missed


def line(how: str, cases: int, what: str, part: list[Row]) -> list[str]:
    """One line of the report; returns what misses in it."""
    truth, value, low, high, old = np.array([row[5:] for row in part]).T
    tiny = 1e-6
    holds = (low <= truth + tiny) & (truth <= high + tiny)
    covered, matters = float(np.mean(holds)), truth > tiny
    alone = f"{np.mean(holds[matters]):6.1%}" if matters.any() else "     -"
    half, bias = float(np.mean(np.minimum(high, 1e3) - low)) / 2, float(np.mean(value - truth))
    error, before = (float(np.median(abs(v - truth))) for v in (value, old))
    print(
        f"{how:9} {cases:7,} {what:14} of {len(part):5,}: covered {covered:6.1%} "
        f"± {2 * error_of_share(part, holds):5.1%}, {alone} if not 0, half width {half:6.2f}, "
        f"bias {bias:+6.2f}, median error {error:5.2f} (plugged-in {before:5.2f})",
        flush=True,
    )
    name = f"{how} {cases:,} {what}"
    if what == "still to learn":
        doubt = 2 * float(np.std(value - truth)) / len(part) ** 0.5
        print(f"{'':18} says {value.mean():.2f} where {truth.mean():.2f} is lost (± {doubt:.2f})")
        return [f"{name}: off by {bias:+.2f} ± {doubt:.2f}"] if abs(bias) > doubt else []
    missed = []
    if not COVERED[0] <= covered <= COVERED[1]:
        missed.append(f"{name}: covers {covered:.1%}")
    if what == "adds" and abs(bias) >= MOST_BIAS * half:
        missed.append(f"{name}: a bias of {bias:+.2f}, half width {half:.2f}")
    if what == "break-even" and (how, cases) == ("online", 5_000):
        of_random = [abs(r.value - r.truth) for r in part if r.kind == "random"]
        if of_random:
            print(f"{'':18} of random models alone: median error {np.median(of_random):.2f}")
        if error > MOST_ERROR * before:
            missed.append(f"{name}: a median error of {error:.2f}, plugged-in {before:.2f}")
    return missed


def error_of_share(part: list[Row], holds: np.ndarray) -> float:
    """The standard error of a share, whole populations being drawn."""
    of: dict[tuple[str, int], list[float]] = {}
    for row, held in zip(part, holds.tolist(), strict=True):
        of.setdefault((row.kind, row.seed), []).append(held)
    off = np.array([sum(held) - len(held) * holds.mean() for held in of.values()])
    return float(np.sqrt((off**2).sum()) / len(part))


def measured(
    to_do: list[Task], processes: int, file: Path | None, minutes: float | None
) -> list[Row]:
    """The rows of all tasks. Those in the file are not worked out again, and others are added.

    After so many minutes no further one is waited for: those that wait in the pool end unread.
    """
    known: dict[Task, list[Row]] = {}
    if file is not None and file.exists():
        for text in file.read_text().splitlines():
            task, found = json.loads(text)
            known[Task(*task)] = [Row(*row) for row in found]
    left, began = [task for task in to_do if task not in known], time.perf_counter()
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(task.rows): task for task in left}
        for done, future in enumerate(as_completed(waiting), 1):
            task = waiting[future]
            known[task] = future.result()
            if file is not None:
                with file.open("a") as out:
                    out.write(json.dumps([task, known[task]]) + "\n")
            if minutes is not None and time.perf_counter() - began > 60 * minutes:
                pool.shutdown(wait=False, cancel_futures=True)
                break
            if sys.stderr.isatty() or done % 20 == 0:
                print(
                    f"{done} of {len(left)}, {time.perf_counter() - began:.0f} s", file=sys.stderr
                )
    print(f"{sum(task in known for task in to_do)} of {len(to_do)} populations")
    return [row for task in to_do for row in known.get(task, [])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="24 populations, up to 5,000 cases")
    parser.add_argument("--check", action="store_true", help="fail if something misses")
    parser.add_argument("--populations", type=int, default=200)
    parser.add_argument(
        "--many", type=int, default=24, help="of those, with 20 observations or more"
    )
    parser.add_argument("--first", type=int, default=REPORTED, help="the first seed")
    parser.add_argument("--most", type=int, default=CASES[-1], help="cases")
    parser.add_argument("--stake", type=float, default=1.0, help="how many times a reward counts")
    parser.add_argument("--rows", type=Path, help="where every number is kept, to go on from there")
    parser.add_argument("--minutes", type=float, help="after which no further one is waited for")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    asked = parser.parse_args()
    number, many = (24, 3) if asked.quick else (asked.populations, asked.many)
    most = min(asked.most, 5_000 if asked.quick else CASES[-1])
    to_do = tasks(number, asked.first, many, most, asked.stake)
    missed = report(measured(to_do, asked.processes, asked.rows, asked.minutes))
    for what in missed:
        print(f"misses: {what}")
    if asked.check and missed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
