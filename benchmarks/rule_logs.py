"""What is recommended after a log in which a rule decided, beside the rule itself.

    python benchmarks/rule_logs.py                  # 42 populations, about a minute
    python benchmarks/rule_logs.py --seeds 8830 8840

The rule buys the one observation with which most is gained, and takes the action that is the best
one then. So it takes each action only where that earns much. A part of its actions is random. The
recommendation should not be worse than the rule, and the interval of its gain should hold. Seeds
8801 to 8821 chose `FEW` in `estimation/untried.py`, and that acting at once is judged by cautious
numbers; nothing was chosen on those from 8830 on.
"""

import argparse
from typing import Any, NamedTuple

import numpy as np

import askwise as aw
from calibration import records
from calibration_populations import OWN_KINDS, Subject, subject
from families_small import FAMILIES

KINDS = [kind for kind in [*OWN_KINDS, *FAMILIES] if kind != "panels"]
AT_RANDOM = 0.0, 0.02, 0.1
CASES = 3_000
WORSE = 0.5
"""Of 100; a policy that gains that much less than the rule is worse."""


class Rule(NamedTuple):
    """What a rule buys, beside what is given, what it does then, and what it gains."""

    known: list[int]
    action: np.ndarray
    gain: float


def best_rule(one: Subject) -> Rule:
    """The best rule that buys one observation."""
    observations, model, found = one.problem.observations, one.model, []
    given = [i for i, o in enumerate(observations) if o.given]
    for i, o in enumerate(observations):
        if o.given:
            continue
        known = sorted([*given, i])
        others = tuple(k for k in range(len(observations)) if k not in known)
        earned = (model.probability[..., None] * model.reward).sum(axis=others)
        gain = one.problem.reward_value * float(earned.max(axis=-1).sum()) - o.cost
        found.append(Rule(known, earned.argmax(axis=-1), gain))
    return max(found, key=lambda rule: rule.gain)


def log_of(
    one: Subject, rule: Rule, rng: np.random.Generator, at_random: float
) -> dict[str, list[Any]]:
    """The decisions of a rule, of which a part is random."""
    columns, earned = records(one, rng, CASES)
    observations, names = one.problem.observations, one.problem.action_names
    digits = [
        [observations[i].outcomes.index(cell) for cell in columns[observations[i].name]]
        for i in rule.known
    ]
    action = rule.action[tuple(np.array(digits))]
    drawn = rng.integers(len(names), size=CASES)
    action = np.where(rng.random(CASES) < at_random, drawn, action).tolist()
    log: dict[str, list[Any]] = {o.name: [None] * CASES for o in observations}
    for i in rule.known:
        cells = columns[observations[i].name]
        log[observations[i].name] = ["unavailable" if cell is None else cell for cell in cells]
    log["action"] = [names[a] for a in action]
    log["reward"] = [earned[name][t] for t, name in enumerate(log["action"])]
    return log


def measured(kind: str, seed: int, at_random: float) -> tuple[float, float, float, bool]:
    """What rule and recommendation lose, what is said too much, and whether the interval holds."""
    one = subject(kind, seed)
    rule, best = best_rule(one), aw.worth(one.model).gain
    rng = np.random.default_rng([seed, KINDS.index(kind), int(1_000 * at_random)])
    log = log_of(one, rule, rng, at_random)
    policy = aw.fit(log, one.problem, acquisition="simultaneous", rng=0).recommend()
    gain, reason = policy.evaluate(one.model), policy.tree().root.reason
    assert reason is not None
    holds = abs(policy.value - gain) <= 1.96 * reason.variance**0.5
    return best - rule.gain, best - gain, policy.value - gain, holds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs=2, default=(8_830, 8_833), help="first, end")
    asked = parser.parse_args()
    for at_random in AT_RANDOM:
        rows = [measured(kind, seed, at_random) for seed in range(*asked.seeds) for kind in KINDS]
        rule, lost, too_much, holds = np.array(rows, np.float64).T
        worse = np.mean(lost > rule + WORSE)
        print(
            f"{at_random:4.0%} at random, {len(rows)} populations: the rule loses "
            f"{rule.mean():.2f}, the recommendation {lost.mean():.2f}; {worse:.0%} are worse than "
            f"the rule, at most by {np.max(lost - rule):.1f}; says {too_much.mean():+.2f} too "
            f"much, intervals hold {holds.mean():.0%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
