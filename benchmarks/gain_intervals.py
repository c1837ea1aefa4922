"""How often the intervals of gains and break-even prices hold, on four desks with money.

    python benchmarks/gain_intervals.py                    # some minutes: 16 runs of 5,000 cases
    python benchmarks/gain_intervals.py --cases 20000 --desks rentals

All desks are fixed. On the *claims* desk most claims earn 50, and a fraud that is paid loses
1,000. On the *routing* desk a right answer earns 4 cents and a wrong one loses 8; observations cost
hundredths of a cent, and all models are nearly as good. On the *rentals* desk three renters in a
hundred do not return a machine worth 400, and all others earn 20; with 252 combinations of values,
looks are worth a few hundredths of that. On the *noise* desk one loan in twenty is lost, whatever
its three observations show, and each of them costs a thousandth of a loss. Rewards near their limit
are the common feature: a state without a loss so far seems to vary little, and must not count for
more.
Shown are the gain of the recommended policy as the learner says it and in truth, the best gain, the
runs in which its 95 % interval held, and the mean error in standard errors as shown. Then the share
of break-even prices whose interval held, and how many verdicts are wrong.
"""

import argparse
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import askwise as aw
from askwise._support.typing import Floats
from askwise.explain import Worth

ROWS = 30_000
"""The rows of a table from which the cases of a run are drawn."""


class Desk(NamedTuple):
    """A population of hidden kinds of cases, with what each of them shows and earns."""

    problem: aw.Problem
    kinds: Floats
    shows: list[Floats]
    """For each observation, the probability of each outcome at [kind, outcome]."""
    right: Floats
    """The probability that an action earns the first of its two amounts, at [action, kind]."""
    earns: Floats
    """These two amounts, at [action, 2]."""

    def model(self) -> aw.Model:
        """The same population, without its hidden kinds."""
        joint = self.kinds
        for shown in self.shows:
            joint = joint[..., None] * shown.reshape(len(shown), *[1] * (joint.ndim - 1), -1)
        mean = self.right * self.earns[:, :1] + (1 - self.right) * self.earns[:, 1:]
        share = joint.sum(axis=0)
        return aw.Model(self.problem, share, np.tensordot(joint, mean, (0, 1)) / share[..., None])

    def table(self, rng: np.random.Generator) -> aw.environments.Table:
        """Cases with all that they show, and what each action earns."""
        kind = rng.choice(len(self.kinds), ROWS, p=self.kinds)
        rows = {}
        for observation, shown in zip(self.problem.observations, self.shows, strict=True):
            upto = np.cumsum(shown[kind], axis=1)[:, :-1]
            place = (rng.random(ROWS)[:, None] > upto).sum(axis=1)
            rows[observation.name] = [observation.outcomes[k] for k in place.tolist()]
        for name, right, earns in zip(
            self.problem.action_names, self.right, self.earns, strict=True
        ):
            rows[name] = np.where(rng.random(ROWS) < right[kind], *earns).tolist()
        return aw.environments.Table(self.problem, rows)


def claims() -> Desk:
    """Honest claims, and six frauds in a hundred."""
    problem = aw.Problem(
        observations=[
            aw.Observation("channel", values=["agent", "web"], given=True),
            aw.Observation("policy age", values=range(4), cost=0.4, ordered=True),
            aw.Observation("photos", values=["clean", "odd", "edited"], cost=3.0, fails="charged"),
            aw.Observation("visit", values=["fine", "odd"], cost=40.0, requires=["photos"]),
        ],
        actions=[
            "pay",
            aw.Action("investigate", cost=60.0),
            aw.Action("reject", requires=["policy age"]),
        ],
        rewards=(-1000.0, 50.0),
    )
    shows = [
        np.array([[0.6, 0.4], [0.3, 0.7]]),
        np.array([[0.05, 0.15, 0.30, 0.50], [0.35, 0.30, 0.20, 0.15]]),
        np.array([[0.72, 0.12, 0.04, 0.12], [0.15, 0.30, 0.43, 0.12]]),
        np.array([[0.93, 0.07], [0.2, 0.8]]),
    ]
    earns = np.array([[50.0, -1000.0], [30.0, -100.0], [-400.0, 0.0]])
    return Desk(problem, np.array([0.94, 0.06]), shows, np.array([[1.0, 0.0]] * 3), earns)


def routing() -> Desk:
    """Easy, middling and hard tickets."""
    needs = ["small"]
    problem = aw.Problem(
        observations=[
            aw.Observation("language", values=["en", "other"], given=True),
            aw.Observation("small", values=["short", "long", "refuses"], cost=0.021),
            aw.Observation("again", values=["agrees", "differs"], cost=0.035, requires=needs),
            aw.Observation("judge", values=range(1, 5), cost=0.06, ordered=True, requires=needs),
            aw.Observation("search", values=["hit", "miss"], cost=0.008, fails="refunded"),
        ],
        panels=[aw.Panel({"again": 0.012, "judge": 0.025}, fee=0.03)],
        actions=[
            aw.Action("send", requires=needs),
            aw.Action("medium", cost=0.30),
            aw.Action("large", cost=1.1),
            aw.Action("person", cost=9.0),
        ],
        rewards=(-8.0, 4.0),
        max_observations=3,
    )
    shows = [
        np.array([[0.8, 0.2], [0.6, 0.4], [0.5, 0.5]]),
        np.array([[0.70, 0.25, 0.05], [0.45, 0.40, 0.15], [0.3, 0.4, 0.3]]),
        np.array([[0.92, 0.08], [0.6, 0.4], [0.35, 0.65]]),
        np.array([[0.03, 0.07, 0.3, 0.6], [0.2, 0.3, 0.3, 0.2], [0.4, 0.35, 0.15, 0.1]]),
        np.array([[0.75, 0.15, 0.1], [0.45, 0.45, 0.1], [0.2, 0.7, 0.1]]),
    ]
    kinds, earns = np.array([0.6, 0.28, 0.12]), np.array([[4.0, -8.0]] * 4)
    right = [[0.93, 0.5, 0.12], [0.96, 0.8, 0.35], [0.98, 0.93, 0.75], [0.99, 0.97, 0.95]]
    return Desk(problem, kinds, shows, np.array(right), earns)


def rentals() -> Desk:
    """Honest renters, careless ones, and thieves."""
    needs = ["register"]
    problem = aw.Problem(
        observations=[
            aw.Observation("trade", values=list("abcdefg"), given=True),
            aw.Observation("register", values=["clear", "marked"], cost=1.2, fails="charged"),
            aw.Observation("telemetry", values=["calm", "rough"], cost=0.4),
            aw.Observation("places", values=["near", "far"], cost=0.6),
            aw.Observation("references", values=["good", "none", "bad"], cost=0.9),
        ],
        panels=[aw.Panel(["telemetry", "places"], fee=0.8)],
        actions=["rent", aw.Action("deposit", cost=0.5), aw.Action("refuse", requires=needs)],
        rewards=(-400.0, 20.0),
    )
    trades = [
        [0.25, 0.08, 0.15, 0.05, 0.17, 0.12, 0.18],
        [0.15, 0.20, 0.08, 0.12, 0.10, 0.20, 0.15],
        [0.08, 0.17, 0.03, 0.25, 0.04, 0.23, 0.20],
    ]
    shows = [
        np.array(trades),
        np.array([[0.60, 0.05, 0.35], [0.40, 0.25, 0.35], [0.20, 0.35, 0.45]]),
        np.array([[0.87, 0.13], [0.51, 0.49], [0.35, 0.65]]),
        np.array([[0.85, 0.15], [0.55, 0.45], [0.42, 0.58]]),
        np.array([[0.60, 0.35, 0.05], [0.35, 0.45, 0.20], [0.15, 0.50, 0.35]]),
    ]
    kinds, earns = np.array([0.85, 0.12, 0.03]), np.array([[20.0, -400.0], [14.0, -300.0], [0, 0]])
    right = [[1.0, 0.94, 0.2], [1.0, 0.96, 0.8], [1.0, 1.0, 1.0]]
    return Desk(problem, kinds, shows, np.array(right), earns)


def noise() -> Desk:
    """Loans of one kind, of which nothing is informative."""
    observations = [aw.Observation(name, values=list("abc"), cost=2.0) for name in "xyz"]
    problem = aw.Problem(
        observations=observations, actions=["accept", "decline"], rewards=(-4000.0, 450.0)
    )
    shows, earns = [np.full((1, 3), 1 / 3)] * 3, np.array([[300.0, -2250.0], [0.0, 0.0]])
    return Desk(problem, np.ones(1), shows, np.array([[0.95], [1.0]]), earns)


DESKS = {"claims": claims, "routing": routing, "rentals": rentals, "noise": noise}


def judged(said: Worth, truth: Worth) -> tuple[int, int]:
    """How many intervals of break-even prices hold, and how many verdicts are wrong."""
    held = wrong = 0
    for row in said:
        until = truth[row.name].break_even
        held += row.break_even_low - 1e-9 <= until <= row.break_even_high + 1e-9
        wrong += row.verdict == ("does not pay" if until > row.price else "pays")
    return held, wrong


def main() -> None:
    """Prints a row for each desk."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--cases", type=int, default=5_000)
    parser.add_argument("--runs", type=int, default=16)
    parser.add_argument("--desks", nargs="+", choices=DESKS, default=list(DESKS))
    asked = parser.parse_args()
    titles = "desk", "best", "says", "truth", "held", "error", "break-even held", "wrong verdicts"
    shown = Table(*titles)
    for name in asked.desks:
        one, held, found, of_worth = DESKS[name](), 0, [], []
        model = one.model()
        known = aw.worth(model)
        for seed in range(asked.runs):
            learner = aw.Learner(one.problem, rng=seed)
            cases = one.table(np.random.default_rng((seed, 1)))
            aw.simulate(learner, cases, steps=asked.cases, rng=seed)
            policy = learner.recommend()
            said, truth = policy.tree().to_dict(), policy.evaluate(model)
            held += said["gain_low"] <= truth <= said["gain_high"]
            found.append((said["gain"], truth, (truth - said["gain"]) / said["gain_error"]))
            of_worth.append(judged(aw.worth(learner), known))
        says, truth, error = np.mean(found, axis=0).tolist()
        numbers = [f"{x:.2f}" for x in (aw.oracle.sequential(model).value, says, truth)]
        prices, wrong = np.sum(of_worth, axis=0).tolist()
        every = asked.runs * len(known)
        gains = f"{held} of {asked.runs}", f"{error:+.2f}"
        shown.add_row(name, *numbers, *gains, f"{prices} of {every}", str(wrong))
    Console().print(shown)


if __name__ == "__main__":
    main()
