"""Which estimate to recommend by: what the recommended policy gains less than the best one.

Populations are drawn by seed from families. One constant, `CAUTION` of `estimation/evidence.py`,
was chosen on the seeds below 100; the others report. Run: `python benchmarks/recommending.py
--kept`.
"""

import argparse
import itertools
from collections import defaultdict

import numpy as np

import askwise as aw
from askwise.estimation.evidence import CountedEvidence
from askwise.learners.learner import rounds_of
from askwise.policy.recommending import recommended
from askwise.simulation.environments import Population

CASES = 1_000, 5_000, 20_000, 100_000
CAUTIONS = 0.0, 0.5, 1.0, 2.0


def network(rng, shape, actions, *, strength, main, pair, base=0.5):
    """Each value leans on one before it; rewards are effects of one and of two observations."""
    p = np.ones(())
    for i, x in enumerate(shape):
        parent = int(rng.integers(i)) if i else None
        table = rng.dirichlet(np.full(x, strength), size=shape[parent] if i else 1)
        axes = [1] * (i + 1)
        axes[i] = x
        if parent is not None:
            axes[parent] = shape[parent]
            ordered = table if parent < i else table.T
            p = p[..., None] * ordered.reshape(axes)
        else:
            p = table.reshape(axes)
    reward = np.full((*shape, actions), base)
    for i in range(len(shape)):
        if rng.random() < 0.7:
            axes = [1] * len(shape)
            axes[i] = shape[i]
            reward = reward + rng.normal(0, main, (*axes, actions))
    for i, j in itertools.combinations(range(len(shape)), 2):
        if rng.random() < 0.4:
            axes = [1] * len(shape)
            axes[i], axes[j] = shape[i], shape[j]
            reward = reward + rng.normal(0, pair, (*axes, actions))
    return p / p.sum(), np.clip(reward, 0.02, 0.98)


def hidden_class(rng, shape, actions):
    """Every observation hints at a class; the action named like it is right."""
    prior = rng.dirichlet(np.full(actions, 5.0))
    hints = [rng.dirichlet(np.full(x, 1 / rng.uniform(0.7, 3)), size=actions) for x in shape]
    joint = prior
    for hint in reversed(hints):
        joint = hint.T.reshape(-1, *[1] * (joint.ndim - 1), actions) * joint
    p = joint.sum(axis=-1)
    return p / p.sum(), 0.1 + 0.8 * joint / p[..., None]


def rule(rng, shape, actions):
    """What the first shows says which other one tells the best action."""
    p = np.ones(())
    for x in shape:
        p = p[..., None] * rng.dirichlet(np.full(x, 6.0))
    reward = np.full((*shape, actions), 0.25)
    for f in np.ndindex(*shape):
        reward[f][f[1 + f[0] % (len(shape) - 1)] % actions] = 0.85
    return p / p.sum(), reward


def dominant(rng, shape, actions):
    """One action is the best everywhere: looking is worth nothing."""
    reward = 0.15 + 0.35 * rng.random((*shape, actions))
    reward[..., 1] = 0.6 + 0.3 * rng.random(shape)
    return rng.dirichlet(np.full(int(np.prod(shape)), 2.0)).reshape(shape), reward


def population(seed):
    """The population of a seed."""
    rng = np.random.default_rng([77, seed])
    shape = rng.integers(2, 5, rng.integers(3, 6)).tolist()
    while np.prod(shape) > 400:
        shape.pop()
    actions = int(rng.integers(2, 6))
    family = seed % 6
    if family == 0:
        world = network(rng, shape, actions, strength=rng.uniform(0.6, 2), main=0.14, pair=0.09)
    elif family == 1:
        world = hidden_class(rng, shape, actions)
    elif family == 2:
        world = rule(rng, shape, actions)
    elif family == 3:
        world = network(rng, shape, actions, strength=1.0, main=0.06, pair=0.2)
    elif family == 4:
        world = network(rng, shape, actions, strength=1.0, main=0.03, pair=0.03, base=0.7)
    else:
        world = dominant(rng, shape, actions)
    prices = rng.uniform(0.5, 5, len(shape)).round(2).tolist()
    problem = aw.Problem(
        observations=[
            aw.Observation(f"o{i}", values=list(range(x)), cost=c)
            for i, (x, c) in enumerate(zip(shape, prices, strict=True))
        ],
        actions=[f"a{a}" for a in range(actions)],
        max_observations=int(rng.integers(2, min(3, len(shape)) + 1)),
        reward_value=100.0,
    )
    return aw.Model(problem, *world)


def candidates(learner):
    """The policies to compare, by name."""
    acquisition = rounds_of(learner).strategy.acquisition
    yield "counts", recommended(acquisition, CountedEvidence(learner.statistics, acquisition.name))
    known = learner.evidence()
    variance = known.variance
    for caution in CAUTIONS:
        known.variance = caution**2 * variance
        yield f"less {caution:g}", recommended(acquisition, known)


def main():
    """Print the mean and the worst of what is lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kept", action="store_true", help="the seeds that chose nothing")
    parser.add_argument("--seeds", type=int, default=18)
    options = parser.parse_args()
    first = 100 if options.kept else 0
    lost = defaultdict(list)
    for seed in range(first, first + options.seeds):
        model = population(seed)
        for learner in (aw.Learner(model.problem, rng=seed), aw.SeqOOS(model.problem, rng=seed)):
            best, done = aw.oracle.sequential(model).value, 0
            for cases in CASES:
                aw.simulate(learner, Population(model), steps=cases - done, rng=seed + done)
                done = cases
                for name, policy in candidates(learner):
                    lost[cases, name].append(best - policy.evaluate(model))
    for (cases, name), found in lost.items():
        print(f"{cases:7,} {name:8} mean {np.mean(found):5.2f}  worst {np.max(found):5.1f}")


if __name__ == "__main__":
    main()
