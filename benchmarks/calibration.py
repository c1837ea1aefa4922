"""Do the numbers hold? Gains, worth and break-even prices against the truth of random populations.

    python benchmarks/calibration.py --quick      # few populations and cases
    python benchmarks/calibration.py --check      # 200 and up to 100,000 cases; fails if one misses

Populations are drawn by seed, from 2,000 on; the others chose what docs/decisions-learning.md says.
They are random models, the families of `families_small.py`, shapes with something given, with
panels and refunds, and 20 or more observations (`families_many.py`). Each is learned online, and
from logs of as many complete records, and of decisions of a random policy. The truth is `aw.worth`
of the model.

An interval says 95 %. It is asked to cover the truth in 93 to 98 % of what it is said of.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import askwise as aw
from askwise.estimation.evidence import Beliefs
from askwise.explain import Worth
from askwise.policy.trees import Act
from askwise.simulation.environments import Population
from askwise.simulation.environments.random_models import model_at_random
from families_many import FAMILIES as MANY
from families_many import drawn
from families_small import FAMILIES, population

REPORTED = 2_000
CASES = 1_000, 5_000, 20_000, 100_000
ONCE_MORE = 20_000
"""Of more cases than that, only every fourth population is learned."""
OWN_KINDS = "random", "uneven", "given", "panels"
"""Of random models, beside the families."""
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


class Subject(NamedTuple):
    """A population, and the truth about it."""

    kind: str
    seed: int
    problem: aw.Problem
    environment: Any
    model: aw.Model
    """Of what matters."""


# --- populations ---------------------------------------------------------------------------------


def random_problem(rng: np.random.Generator, kind: str) -> aw.Problem:
    """Three or four observations of two or three values, or as the kind says."""
    shape = rng.integers(2, 4, rng.integers(3, 5)).tolist()
    if kind == "uneven":
        shape = [int(rng.integers(5, 9)), *rng.integers(2, 4, 2).tolist()]
    given = int(rng.integers(len(shape))) if kind == "given" else -1
    fails = ["refunded", "charged", None] if kind == "panels" else [None]
    observations = [
        aw.Observation(
            f"o{i}",
            values=list(range(x)),
            cost=0.0 if i == given else round(float(rng.uniform(0.5, 4.0)), 2),
            given=i == given,
            fails=None if i == given else fails[int(rng.integers(len(fails)))],
        )
        for i, x in enumerate(shape)
    ]
    panels = [aw.Panel(observations=["o0", "o1"], fee=1.5)] if kind == "panels" else []
    return aw.Problem(
        observations=observations,
        actions=[f"a{a}" for a in range(int(rng.integers(2, 5)))],
        panels=panels,
        max_observations=min(len(shape) - (given >= 0), int(rng.integers(2, 5))),
        reward_value=100.0,
    )


def subject(kind: str, seed: int) -> Subject:
    """The population of a kind and a seed."""
    if kind in FAMILIES:
        model = population(kind, seed)
    elif kind in MANY:
        many = drawn(kind, seed).environment
        return Subject(kind, seed, many.problem, many, many.core)
    else:
        rng = np.random.default_rng([18, OWN_KINDS.index(kind), seed])
        model = model_at_random(rng, random_problem(rng, kind))
    return Subject(kind, seed, model.problem, Population(model), model)


def subjects(number: int, first: int, many: int) -> Iterator[Subject]:
    """So many, the kinds by turns; `many` of them have 20 observations or more."""
    kinds = [*OWN_KINDS, *FAMILIES]
    for k in range(number - many):
        yield subject(kinds[k % len(kinds)], first + k // len(kinds))
    for k in range(many):
        yield subject(list(MANY)[k % len(MANY)], first + k // len(MANY))


# --- what is said of them ------------------------------------------------------------------------


def learners(one: Subject, cases: tuple[int, ...]) -> Iterator[tuple[str, int, Any]]:
    """The population learned online, and from logs: how, from how many cases, and the learner."""
    learner, done = aw.Learner(one.problem, rng=one.seed), 0
    for number in cases:
        aw.simulate(learner, one.environment, steps=number - done, rng=one.seed + number)
        done = number
        yield "online", number, learner
    for number in cases[:2]:
        rng = np.random.default_rng([one.seed, number])
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
    earned = {a: draws.rewards[:, k].tolist() for k, a in enumerate(one.problem.action_names)}
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
    log: dict[str, list[Any]] = {name: list(column) for name, column in columns.items()}
    for name in names:
        log[name] = ["unavailable" if value is None else value for value in log[name]]
    log["action"], log["reward"] = [], []
    for t in range(number):
        seen = rng.permutation(names)[: rng.integers(problem.m + 1)]
        for name in set(names) - set(seen):
            log[name][t] = None
        action = problem.action_names[int(rng.integers(len(problem.actions)))]
        log["action"].append(action)
        log["reward"].append(rewards[action][t])
    return log


def rows(one: Subject, how: str, cases: int, source: Any) -> Iterator[Row]:
    """All that is said of a population after so many cases."""
    sequential = source.recommend().acquisition == "sequential"
    truth = aw.worth(one.model, acquisition="sequential" if sequential else "simultaneous")
    said = aw.worth(source)
    known = source.evidence()
    means = None
    if isinstance(known, Beliefs):
        means = aw.worth(
            Beliefs(known.lattice, known.probability, known.reward), acquisition=said.acquisition
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
            return float((100.0 * earned - spent).sum())
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
    covered = float(np.mean((low <= truth + tiny) & (truth <= high + tiny)))
    half, bias = float(np.mean(np.minimum(high, 1e3) - low)) / 2, float(np.mean(value - truth))
    error, before = (float(np.median(abs(v - truth))) for v in (value, old))
    print(
        f"{how:9} {cases:7,} {what:14} of {len(part):5,}: covered {covered:6.1%}, half width "
        f"{half:6.2f}, bias {bias:+6.2f}, median error {error:5.2f} (plugged-in {before:5.2f})",
        flush=True,
    )
    name = f"{how} {cases:,} {what}"
    missed = []
    if what == "still to learn":
        return missed
    if not COVERED[0] <= covered <= COVERED[1]:
        missed.append(f"{name}: covers {covered:.1%}")
    if what == "adds" and abs(bias) >= MOST_BIAS * half:
        missed.append(f"{name}: a bias of {bias:+.2f}, half width {half:.2f}")
    if what == "break-even" and (how, cases) == ("online", 5_000) and error > MOST_ERROR * before:
        missed.append(f"{name}: a median error of {error:.2f}, plugged-in {before:.2f}")
    return missed


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
    parser.add_argument("--rows", type=Path, help="write every number to this file")
    asked = parser.parse_args()
    number, many = (24, 3) if asked.quick else (asked.populations, asked.many)
    most = min(asked.most, 5_000 if asked.quick else CASES[-1])
    found: list[Row] = []
    began = time.perf_counter()
    for k, one in enumerate(subjects(number, asked.first, many)):
        cases = tuple(n for n in CASES if n <= most and (n <= ONCE_MORE or k % 4 == 0))
        for how, after, source in learners(one, cases):
            found += rows(one, how, after, source)
        if sys.stderr.isatty() or (k + 1) % 20 == 0:
            print(f"{k + 1} of {number}, {time.perf_counter() - began:.0f} s", file=sys.stderr)
        if asked.rows:
            asked.rows.write_text(json.dumps(found))
    missed = report(found)
    for what in missed:
        print(f"misses: {what}")
    if asked.check and missed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
