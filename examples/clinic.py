"""A clinic learns which tests are worth their price.

One patient in five has something, and more often than not it is harmless. Four tests can be
bought, none is sure, and a perfect decision is worth 100 in the currency of their prices. The
clinic knows none of the probabilities below: it learns from rewards alone. The oracle knows all.
"""

import time

import numpy as np

import askwise as aw
from askwise.simulation import simulate
from askwise.simulation.environments import Population

CONDITIONS = {"healthy": 0.80, "benign": 0.12, "malignant": 0.08}

# name, price, values, and for each condition how likely each value is
TESTS = [
    ("questions", 0.5, ["fine", "pain"], [[0.85, 0.15], [0.40, 0.60], [0.20, 0.80]]),
    ("blood", 2.0, ["normal", "raised"], [[0.95, 0.05], [0.70, 0.30], [0.15, 0.85]]),
    ("scan", 6.0, ["clear", "shadow"], [[0.97, 0.03], [0.05, 0.95], [0.05, 0.95]]),
    ("biopsy", 15.0, ["clean", "cells"], [[0.99, 0.01], [0.97, 0.03], [0.02, 0.98]]),
]

# how well each action goes (0 to 1) for a healthy, a benign, a malignant patient
ACTIONS = {"send home": [1.0, 0.4, 0.0], "medicate": [0.6, 1.0, 0.1], "operate": [0.1, 0.4, 1.0]}

AT_THE_DESK = 5_000
SIMULATED = 200_000


def clinic() -> aw.Model:
    """The population. Given the condition the tests are independent; nobody sees the condition."""
    problem = aw.Problem(
        observations=[
            aw.Observation(name, values=values, cost=price) for name, price, values, _ in TESTS
        ],
        actions=list(ACTIONS),
        reward_value=100.0,
    )
    conditions = np.array(list(CONDITIONS.values()))
    tables = [np.array(table) for *_, table in TESTS]
    joint = np.einsum("k,ka,kb,kc,kd->kabcd", conditions, *tables)
    probability = joint.sum(axis=0)
    earned = np.einsum("kabcd,xk->abcdx", joint, np.array(list(ACTIONS.values())))
    return aw.Model(problem, probability, earned / probability[..., None])


def at_the_desk(learner: aw.SeqOOS, population: Population, rng: np.random.Generator) -> np.ndarray:
    """What a program at the desk does: ask, buy, tell, act, report how it went. Returns gains."""
    problem, gains = learner.problem, []
    for values, rewards in zip(*population.draw(rng, AT_THE_DESK), strict=True):
        patient = {o.name: o.values[x] for o, x in zip(problem.observations, values, strict=True)}
        case = learner.open()
        while case.wanted:
            case.observe({test: patient[test] for test in case.wanted})
        reward = rewards[problem.action_names.index(case.action)]
        case.reward(reward)
        gains.append(problem.reward_value * reward - case.cost)
    return np.array(gains)


def heading(text: str) -> None:
    print(f"\n{text}\n{'─' * len(text)}")


def main() -> None:
    model = clinic()
    problem, population = model.problem, Population(model)
    oracle = aw.oracle.sequential(model)
    nothing = aw.oracle.fixed(model, [])
    everything = aw.oracle.fixed(model, [o.name for o in problem.observations])

    heading(f"What can be bought; a perfect decision is worth {problem.reward_value:g}")
    for o in problem.observations:
        print(f"{o.name:<10} {o.cost:>5.1f}   shows {' or '.join(map(str, o.values))}")

    learner = aw.SeqOOS(problem, rng=7)
    gains = at_the_desk(learner, population, np.random.default_rng(1))
    tree_at_the_desk = learner.policy.tree()
    started = time.perf_counter()
    run = simulate(learner, population, steps=SIMULATED, rng=2)  # the same learner goes on
    seconds = time.perf_counter() - started

    heading(f"What the clinic would do after {AT_THE_DESK:,} patients")
    print(tree_at_the_desk)
    heading(f"What it would do after {SIMULATED:,} more")
    print(learner.policy.tree())
    heading("What the oracle does, who knows every probability")
    print(oracle.tree())

    heading("Mean gain a patient (100 × reward − price of the tests), and against buying nothing")
    for label, gain in [
        ("buying nothing, then the best action", nothing.value),
        ("buying every test, then the best action", everything.value),
        ("learning, patients 1 to 500", gains[:500].mean()),
        (f"learning, patients 501 to {AT_THE_DESK:,}", gains[500:].mean()),
        (f"learning, the last {SIMULATED // 2:,} patients", run.gain[SIMULATED // 2 :].mean()),
        ("the policy it has now, exactly", learner.policy.evaluate(model)),
        ("the oracle", oracle.value),
    ]:
        print(f"{label:<42} {gain:6.2f}  {gain - nothing.value:+7.2f}")
    print(
        f"\n{AT_THE_DESK:,} patients came to the desk one by one; "
        f"{SIMULATED:,} were simulated in {seconds:.1f} s."
    )


if __name__ == "__main__":
    main()
