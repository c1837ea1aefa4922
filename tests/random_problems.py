"""Random problems with given observations, panels and failures, and models of them."""

import itertools

import msgspec
import numpy as np

import askwise as aw

FEATURES = ("given", "panel", "overlapping", "charged", "refunded")


ALL = [True] * len(FEATURES)
FREQUENT = (0.55, 0.75, 0.8, 0.5, 0.5)
"""How many problems are to have each: some are smothered by a small m, or by a price of 0."""


def random_problem(rng, *, most, wanted=None, observations=4, buys=False):
    """A problem with about those features, of at most so many full states; ragged and shuffled."""
    wanted = (rng.random(len(FEATURES)) < FREQUENT).tolist() if wanted is None else wanted
    is_given, in_panels, overlap, charged, refunded = wanted
    while True:
        n = int(rng.choice([1, 2, 3, 4, observations, observations][2 * buys :]))
        beta = float(rng.choice([1.0, 50.0]))
        dear = beta * float(rng.choice([0.0, 0.02, 0.1, 0.3], p=[0.1, 0.6, 0.25, 0.05]))
        kinds = [None, *["charged"] * charged, *["refunded"] * refunded]
        declared = []
        for i in range(n):
            given = bool(is_given and rng.random() < 0.3)
            declared.append(
                aw.Observation(
                    f"o{i}",
                    values=[f"v{x}" for x in range(rng.choice([1, 2, 3], p=[0.25, 0.55, 0.2]))],
                    cost=0.0 if given else round(float(rng.random() * dear), 3),
                    given=given,
                    fails=kinds[rng.integers(len(kinds))],
                )
            )
        names = [o.name for o in declared if not o.given]
        panels = []
        for _ in range(int(rng.choice([1, 2, 3])) if in_panels and names else 0):
            size = min(int(rng.choice([1, 2, 2, 3])), len(names))
            members = rng.permutation(names)[:size].tolist()
            if not overlap:
                members = [x for x in members if not any(x in p.observations for p in panels)]
            if members:
                fee = rng.random() * float(rng.choice([0.0, dear, beta / 10]))
                panels.append(aw.Panel(observations=members, fee=round(fee, 3)))
        m = int(max(rng.integers(buys, len(names) + 1, 2))) if names else 0
        problem = aw.Problem(
            observations=declared,
            actions=[f"a{a}" for a in range(rng.integers(1 + (buys or rng.random() < 0.9), 4))],
            max_observations=m,
            reward_value=beta,
            panels=panels,
        )
        full = int(np.prod([len(o.outcomes) for o in declared]))
        if full <= most and (not buys or names):
            return problem


def random_model(rng, problem):
    """p uniform on the simplex, a part of it impossible in some; rewards uniform or sure."""
    shape = tuple(len(o.outcomes) for o in problem.observations)
    probability = rng.dirichlet(np.ones(int(np.prod(shape)))).reshape(shape)
    reward = rng.random((*shape, len(problem.actions)))
    if rng.random() < 0.6:
        reward = np.round(reward)
    if rng.random() < 0.35:
        some = probability * (rng.random(shape) < 0.6)
        probability = some / some.sum() if some.sum() > 0 else probability
    return aw.Model(problem, probability, reward)


def with_priced_panels(rng, problem):
    """The same problem with up to three panels of prices of their own, which may overlap."""
    names = [o.name for o in problem.observations if not o.given]
    beta, panels = problem.reward_value, list(problem.panels)[: int(rng.integers(2))]
    for _ in range(int(rng.integers(1, 4))):
        members = rng.permutation(names)[: int(rng.integers(1, len(names) + 1))].tolist()
        prices = {name: round(float(rng.random() * 0.1 * beta), 3) for name in members}
        panels.append(aw.Panel(prices, fee=round(float(rng.random() * 0.1 * beta), 3)))
    dear = {name: round(float(rng.random() * 0.15 * beta), 3) for name in names}
    return msgspec.structs.replace(problem, panels=panels).priced(dear)


def features_of(problem):
    """The features that make a difference in a problem."""
    buyable = {o.name: o for o in problem.observations if not o.given}
    dear = [set(p.observations) for p in problem.panels if p.fee > 0]
    priced = {name for p in dear for name in p} | {n for n, o in buyable.items() if o.cost > 0}
    fails = {kind: {n for n, o in buyable.items() if o.fails == kind} for kind in FEATURES[3:]}
    found = set()
    if any(len(o.outcomes) > 1 for o in problem.observations if o.given):
        found.add("given")
    if problem.m >= 2 and any(len(p) >= 2 for p in dear):
        found.add("panel")
    if problem.m >= 2 and any(a & b for a, b in itertools.combinations(dear, 2)):
        found.add("overlapping")
    if problem.m >= 1 and fails["charged"]:
        found.add("charged")
    if problem.m >= 1 and fails["refunded"] & priced:
        found.add("refunded")
    return found


def busy_models(seed, number, *, most=120):
    """Models of problems in which every feature is present, or nearly every one."""
    rng = np.random.default_rng(seed)
    models = []
    while len(models) < number:
        wanted = [rng.random() < 0.85 for _ in FEATURES]
        problem = random_problem(rng, most=most, observations=5, wanted=wanted, buys=True)
        if len(features_of(problem)) >= 3 and problem.m >= 2:
            models.append(random_model(rng, problem))
    return models


def with_rules(model, rng):
    """The same population, in which actions cost, and actions and looks require something.

    The first of the cheapest actions requires nothing.
    """
    problem = model.problem
    beta, names = problem.reward_value, [o.name for o in problem.observations]
    costs = rng.choice([0.0, 0.05, 0.3, 3.0], len(problem.actions)) * beta * rng.random()
    cheapest = int(np.argmin(costs))
    actions = [
        aw.Action(
            name,
            cost=costs[a],
            requires=[n for n in names if a > cheapest and rng.random() < 0.4],
        )
        for a, name in enumerate(problem.action_names)
    ]
    order = rng.permutation(len(names)).tolist()
    observations = [
        o
        if o.given
        else msgspec.structs.replace(
            o,
            requires=[names[j] for j in order[: order.index(i)] if rng.random() < 0.4],
        )
        for i, o in enumerate(problem.observations)
    ]
    ruled = msgspec.structs.replace(problem, actions=actions, observations=observations)
    return aw.Model(ruled, model.probability, model.reward)


def ruled_models(seed, number):
    """Busy models with rules."""
    rng = np.random.default_rng(seed)
    return [with_rules(model, rng) for model in busy_models(seed, number)]


def is_drawn_right(model):
    """Whether `simulate` can draw from it: see the test of one value declared first."""
    return all(len(o.outcomes) > 1 for o in model.problem.observations if o.given)
