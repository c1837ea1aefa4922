"""All policies of tiny problems, one by one, by the rules as they are told to users.

Nothing here knows of lattices or plans: what is known in a case is {name: outcome}, and what a
case gains is reckoned from the problem alone.
"""

import itertools

import numpy as np

import askwise as aw


def random_problem(rng, *, costs=True, requires=True, panels=True, failures=True, given=True):
    """A tiny problem with whatever of all that is asked for."""
    number = int(rng.integers(1, 4))
    names = [f"o{i}" for i in range(number)]
    is_given = [
        given and number > 1 and i == number - 1 and rng.random() < 0.4 for i in range(number)
    ]
    order = rng.permutation(number).tolist()  # what requires comes after what is required
    observations = []
    for i, name in enumerate(names):
        earlier = [names[j] for j in order[: order.index(i)]]
        needs = [n for n in earlier if requires and not is_given[i] and rng.random() < 0.4]
        observations.append(
            aw.Observation(
                name,
                values=[f"v{x}" for x in range(int(rng.integers(1, 4 if number < 3 else 3)))],
                given=is_given[i],
                cost=0.0 if is_given[i] else float(rng.choice([0.0, rng.random() * 0.3])),
                fails=[None, None, "charged", "refunded"][rng.integers(4)] if failures else None,
                requires=needs,
            )
        )
    bought = [n for n, g in zip(names, is_given, strict=True) if not g]
    fees = []
    if panels and rng.random() < 0.6:
        members = [n for n in bought if rng.random() < 0.7] or bought[:1]
        fees = [aw.Panel(observations=members, fee=float(rng.random() * 0.3))]
    actions = [
        aw.Action(
            f"a{a}",
            cost=float(rng.choice([0.0, rng.random() * 0.5])) if costs else 0.0,
            requires=[n for n in names if requires and a and rng.random() < 0.3],
        )
        for a in range(2)
    ]
    if rng.random() < 0.5:
        actions.reverse()
    return aw.Problem(
        observations=observations,
        actions=actions,
        panels=fees,
        max_observations=int(rng.integers(0, len(bought) + 1)),
        reward_value=float(rng.choice([1.0, 0.5 + 3 * rng.random()])),
    )


def count_trees(problem, known):
    """How many `all_trees` has."""
    total = len(allowed_actions(problem, known))
    for o in allowed_looks(problem, known):
        total += count_trees(problem, (*known, o.name)) ** len(o.outcomes)
    return total


def random_tiny_problem(rng, most=400, **features):
    """One with few enough policies to try them all."""
    while True:
        problem = random_problem(rng, **features)
        given = tuple(o.name for o in problem.observations if o.given)
        shown = [len(o.outcomes) for o in problem.observations if not o.given]
        if count_trees(problem, given) <= most and 2 ** np.prod(shown) <= most:
            return problem


def random_model(rng, problem):
    """A population for it; some combinations never come."""
    shape = tuple(len(o.outcomes) for o in problem.observations)
    p = rng.random(shape) * (rng.random(shape) < 0.8)
    p = p / p.sum() if p.sum() else np.full(shape, 1 / np.prod(shape))
    return aw.Model(problem, p, rng.random((*shape, len(problem.actions))))


def full_states(model):
    """Every combination that comes: {name: outcome}, its probability, {action: mean reward}."""
    problem = model.problem
    for place in itertools.product(*(range(len(o.outcomes)) for o in problem.observations)):
        if model.probability[place] > 0:
            full = {o.name: o.outcomes[x] for o, x in zip(problem.observations, place, strict=True)}
            earned = dict(zip(problem.action_names, model.reward[place], strict=True))
            yield full, float(model.probability[place]), earned


def spent(problem, seen, bought):
    """What a case paid that bought these, of which some failed."""
    paid = [
        o
        for o in problem.observations
        if o.name in bought and not (seen[o.name] is None and o.fails == "refunded")
    ]
    opened = {o.name for o in paid}
    fees = sum(p.fee for p in problem.panels if opened.intersection(p.observations))
    return sum(o.cost for o in paid) + fees


def allowed_actions(problem, known):
    return [a.name for a in problem.actions if set(a.requires) <= set(known)]


def allowed_looks(problem, known):
    """What may be bought next; what is given or on file counts as known."""
    given = [o.name for o in problem.observations if o.given]
    if len(set(known) - set(given)) >= problem.m:
        return []
    return [
        o for o in problem.observations if o.name not in known and set(o.requires) <= set(known)
    ]


def all_trees(problem, known):
    """Every sequential policy from here on: an action, or {look: {outcome: tree}}."""
    yield from allowed_actions(problem, known)
    for o in allowed_looks(problem, known):
        after = [list(all_trees(problem, (*known, o.name))) for _ in o.outcomes]
        for chosen in itertools.product(*after):
            yield (o.name, dict(zip(o.outcomes, chosen, strict=True)))


def all_sets(problem, known):
    """Every set that may be bought at once."""
    given = [o.name for o in problem.observations if o.given]
    room = problem.m - len(set(known) - set(given))
    others = [o for o in problem.observations if o.name not in known]
    for size in range(room + 1):
        for chosen in itertools.combinations(others, size):
            names = {*known, *(o.name for o in chosen)}
            if all(set(o.requires) <= names for o in chosen):
                yield tuple(o.name for o in chosen)


def all_set_policies(problem, known):
    """Every simultaneous policy: a set, and an action for each of what it may show."""
    outcomes = {o.name: o.outcomes for o in problem.observations}
    for chosen in all_sets(problem, known):
        shown = list(itertools.product(*(outcomes[n] for n in chosen)))
        actions = allowed_actions(problem, (*known, *chosen))
        for done in itertools.product(actions, repeat=len(shown)):
            yield chosen, dict(zip(shown, done, strict=True))


def follow_tree(tree, full):
    bought = []
    while not isinstance(tree, str):
        bought.append(tree[0])
        tree = tree[1][full[tree[0]]]
    return bought, tree


def follow_set(policy, full):
    chosen, done = policy
    return list(chosen), done[tuple(full[n] for n in chosen)]


def best_gain(model, policies, follow, known):
    """The most that a policy gains in the cases that begin with this, times how often they do."""
    problem = model.problem
    cost = {a.name: a.cost for a in problem.actions}
    cases = [
        (full, p, earned)
        for full, p, earned in full_states(model)
        if all(full[name] == value for name, value in known.items())
    ]
    gains = [{} for _ in cases]
    best = -np.inf
    for policy in policies(problem, tuple(known)):
        gain = 0.0
        for (full, p, earned), known_gains in zip(cases, gains, strict=True):
            bought, action = follow(policy, full)
            done = (frozenset(bought), action)
            if done not in known_gains:
                worth = problem.reward_value * earned[action] - cost[action]
                known_gains[done] = p * (worth - spent(problem, full, bought))
            gain += known_gains[done]
        best = max(best, gain)
    return best


def contexts(problem):
    """What a case may begin with."""
    given = [o for o in problem.observations if o.given]
    for outcomes in itertools.product(*(o.outcomes for o in given)):
        yield dict(zip((o.name for o in given), outcomes, strict=True))


def best_of_all(model, policies, follow):
    return sum(best_gain(model, policies, follow, known) for known in contexts(model.problem))
