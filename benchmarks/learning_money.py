"""The money suite: how well learners do where rewards are money, against a pilot and thresholds.

    python benchmarks/learning_money.py --seeds 8             # what is reported: three minutes
    python benchmarks/learning_money.py --seeds 3 --first 0   # where constants were chosen
    python benchmarks/learning_money.py --only "rare disease"

The score after n cases is (mean gain of the first n − blind) / (oracle − blind), blind being the
best action without looking (`families_money.py`). Compared are

- `aw.Learner`;
- a **pilot and thresholds**: in the first k cases everything is bought and any action taken. Then
  for each action a logistic regression on all values says how likely a loss is (money below 0, or
  below its mean where nothing is ever lost); what a loss costs and what else is earned are means.
  Every other case buys that set of observations which gains most by the pilot, and takes the action
  of most expected money. Shown is the best k in hindsight, population by population;
- UCB1 that buys nothing, and the action that is best for everybody, which has the score 0.
"""

import argparse
import itertools
import sys
import warnings
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import stats
from sklearn.linear_model import LogisticRegression

import askwise as aw
from askwise._support.typing import Floats, Integers
from askwise.learners.exploration_costs import most_spent
from families_money import FAMILIES, REPORTED, MoneyPopulation, bounds, population

MOMENTS = 1_000, 5_000, 20_000
PILOTS = 200, 500, 1_000, 2_000


class Setting(NamedTuple):
    """A population, and what a case can gain there."""

    population: MoneyPopulation
    model: aw.Model
    blind: float
    best: float

    def score(self, gain: float) -> float:
        """Of a mean gain."""
        return (gain - self.blind) / (self.best - self.blind)


def learned(setting: Setting, learner: aw.learners.BaseLearner, seed: int) -> list[float]:
    """The score at every moment, and that of what is recommended."""
    run = aw.simulate(learner, setting.population, steps=MOMENTS[-1], rng=seed)
    scores = [setting.score(float(run.gain[:n].mean())) for n in MOMENTS]
    return [*scores, setting.score(learner.recommend().evaluate(setting.model))]


def piloted(setting: Setting, size: int, seed: int) -> list[float]:
    """The same of a pilot of so many cases, and thresholds."""
    rng = np.random.default_rng(seed)
    problem = setting.population.problem
    values, rewards = setting.population.draw(rng, size)
    action = rng.integers(len(problem.actions), size=size)
    earned = rewards[np.arange(size), action]
    costs = np.array([o.cost for o in problem.observations])
    value = _thresholds(setting, values, action, earned, costs)
    gains = earned - costs.sum()
    means = [(gains[:n].sum() + max(0, n - size) * value) / n for n in MOMENTS]
    return [*map(setting.score, means), setting.score(value)]


def _thresholds(
    setting: Setting, values: Integers, action: Integers, earned: Floats, costs: Floats
) -> float:
    """What the policy that a pilot leads to gains a case, exactly."""
    model, observations = setting.model, setting.population.problem.observations
    digits = np.stack(np.unravel_index(np.arange(model.probability.size), model.probability.shape), 1)  # noqa: E501  # fmt: skip
    given = [i for i, o in enumerate(observations) if o.given]
    buyable = [i for i, o in enumerate(observations) if not o.given]
    best, chosen = -np.inf, None
    for size in range(len(buyable) + 1):
        for looks in itertools.combinations(buyable, size):
            known = [*given, *looks]
            expected = np.stack(
                [_expected(digits, values, action == a, earned, known, model.probability.shape)
                 for a in range(len(setting.population.problem.actions))], axis=-1,
            )  # fmt: skip
            doing, spent = expected.argmax(axis=1), float(costs[list(looks)].sum())
            place = np.ravel_multi_index(tuple(values.T), model.probability.shape)
            by_pilot = float(expected.max(axis=1)[place].mean()) - spent
            if by_pilot > best:
                best, chosen = by_pilot, (doing, spent)
    assert chosen is not None
    doing, spent = chosen
    low, high = model.problem.rewards or (0.0, 1.0)
    mean = low + (high - low) * model.reward.reshape(-1, model.reward.shape[-1])
    p = model.probability.ravel()
    return float(p @ mean[np.arange(len(p)), doing]) - spent


def _expected(
    digits: Integers,
    values: Integers,
    own: Integers,
    earned: Floats,
    known: list[int],
    shape: tuple[int, ...],
) -> Floats:
    """What an action is expected to earn in every full state, by its own cases in the pilot."""
    if not own.any():
        return np.full(len(digits), -np.inf)
    money = earned[own]
    is_loss = money < (0.0 if (money < 0).any() and (money >= 0).any() else money.mean())
    if not known or is_loss.all() or not is_loss.any():
        return np.full(len(digits), money.mean())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = LogisticRegression(max_iter=500).fit(_features(values[own], known, shape), is_loss)
    likely = fitted.predict_proba(_features(digits, known, shape))[:, 1]
    return likely * money[is_loss].mean() + (1 - likely) * money[~is_loss].mean()


def _features(values: Integers, known: list[int], shape: tuple[int, ...]) -> Floats:
    return np.hstack([np.eye(shape[i])[values[:, i]] for i in known])


class Found(NamedTuple):
    """The scores in one population, at every moment and of what is recommended."""

    setting: Setting
    scores: dict[str, list[float]]


def price_of_trying(setting: Setting, cases: int) -> float:
    """What trying may cost each of the first cases on average, in money."""
    shares = [most_spent(t) for t in range(cases)]
    return float(np.mean(shares)) * setting.population.problem.reward_value


def measured(family: str, seed: int) -> Found:
    """Each workflow in one population."""
    drawn = population(family, seed)
    model = drawn.model()
    setting = Setting(drawn, model, *bounds(model))
    pilots = [
        np.mean([piloted(setting, size, 10 * seed + k) for k in range(3)], axis=0)
        for size in PILOTS
    ]
    scores = {
        "Learner": learned(setting, aw.Learner(drawn.problem, rng=seed), seed),
        "best pilot": np.max(pilots, axis=0).tolist(),
        "UCB1": learned(setting, aw.baselines.NoInformation(drawn.problem, rng=seed), seed),
    }
    return Found(setting, scores)


def add_scores(table: Table, family: str, found: list[Found]) -> None:
    """The mean and the least score of each workflow."""
    for label in found[0].scores:
        scores = [one.scores[label] for one in found]
        at = [f"{mean:.2f} ({least:.2f})" for mean, least in
              zip(np.mean(scores, axis=0), np.min(scores, axis=0), strict=True)]  # fmt: skip
        table.add_row(family if label == "Learner" else "", label, *at)


def add_differences(table: Table, family: str, found: list[Found]) -> None:
    """The learner less the best pilot, and less the best action without looking."""
    learner = np.array([one.scores["Learner"] for one in found])
    ahead = learner - np.array([one.scores["best pilot"] for one in found])
    n = len(found)
    cells = []
    for k, moment in enumerate(MOMENTS[1:], start=1):
        half = stats.t.ppf(0.975, n - 1) * ahead[:, k].std(ddof=1) / np.sqrt(n) if n > 1 else np.nan
        below = int((ahead[:, k] < 0).sum())
        cells.append(f"{ahead[:, k].mean():+.2f} ± {half:.2f}, {below} of {n}")
        losses = [
            (-score * (one.setting.best - one.setting.blind), price_of_trying(one.setting, moment))
            for one, score in zip(found, learner[:, k], strict=True)
        ]
        lost, stated = max(losses, key=lambda pair: pair[0] / pair[1])
        cells.append(f"{lost:.3g} of {stated:.3g}" if lost > 0 else "never")
    table.add_row(family, *cells)


def main() -> None:
    """Run what is asked for, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--first", type=int, default=REPORTED, help="the first seed")
    parser.add_argument("--seeds", type=int, default=4, help="populations of each family")
    parser.add_argument("--only", default="", help="families whose name begins so")
    given = parser.parse_args()
    head = [f"{n:,}" for n in MOMENTS]
    scores = Table("population", "", *head, "recommended", title="Score in money")
    titles = [title for n in head[1:] for title in (f"ahead, below at {n}", "lost of price")]
    ahead = Table("population", *titles, title="Learner against the best pilot, and against blind")
    for family in [name for name in FAMILIES if name.startswith(given.only)]:
        found = [measured(family, seed) for seed in range(given.first, given.first + given.seeds)]
        add_scores(scores, family, found)
        add_differences(ahead, family, found)
        print(f"done: {family}", file=sys.stderr)
    console = Console(width=120)
    console.print(scores)
    print("The mean over the populations, and in brackets the least.\n")
    console.print(ahead)
    print(
        "How far the score of the learner is ahead of the best pilot's, with an interval of 95 %,\n"
        "and in how many populations it is below. Then what it lost a case against the best\n"
        "action without looking, where it lost most, of the price of trying stated there."
    )


if __name__ == "__main__":
    main()
