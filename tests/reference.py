"""The paper in plain Python: slow, obvious, and written apart from the code it checks.

Partial states are frozensets of (observation, value) pairs.
"""

import itertools
import math
from collections import defaultdict

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

State = frozenset


class Sets:
    """The sets E of the paper, kept as sets of times τ."""

    def __init__(self, m):
        self.m = m
        self.of_subset = defaultdict(set)  # E(I)
        self.of_state = defaultdict(set)  # E(I, ψ); dom(ψ) = I
        self.of_action = defaultdict(set)  # E(a, ψ)
        self.of_step = defaultdict(set)  # E(ψ, i, ψ')
        self.rewards = {}
        self.t = 0

    def simultaneous(self, seen, action, reward):
        """Case t looked at dom(seen) at once."""
        self.t += 1
        for k in range(len(seen) + 1):
            for part in itertools.combinations(seen, k):
                self.of_state[State(part)].add(self.t)
                self.of_subset[State(i for i, _ in part)].add(self.t)
        self._acted(State(seen), action, reward)

    def sequential(self, steps, action, reward):
        """Case t looked at these (observation, value) pairs one after the other."""
        self.t += 1
        known = State()
        for pair in steps:
            self.of_step[known, pair[0], known | {pair}].add(self.t)
            known |= {pair}
        self._acted(known, action, reward)

    def _acted(self, state, action, reward):
        self.of_action[action, state].add(self.t)
        self.rewards[self.t] = reward


def all_states(radices, m):
    """Ψ: by size of the domain, then by the domain, then by the values."""
    for k in range(m + 1):
        for subset in itertools.combinations(range(len(radices)), k):
            for values in itertools.product(*(range(radices[i]) for i in subset)):
                yield State(zip(subset, values, strict=True))


def domain(state):
    return State(i for i, _ in state)


def children(state, i, radices):
    return [state | {(i, x)} for x in range(radices[i])]


def radius(width, n, cap=2.0):
    """conf₂. No two distributions are further apart than 2."""
    return 2.0 if n == 0 else min(cap, math.sqrt(width / n))


def l1_programs(programs):
    """max Σ p v, s.t. Σ|p − p̂| ≤ radius, Σ p = 1, p ≥ 0: many of them as one linear program.

    Variables: every p, then every u ≥ |p − p̂|.
    """
    v = np.concatenate([values for values, _, _ in programs])
    centre = np.concatenate([p for _, p, _ in programs])
    radii = np.array([r for _, _, r in programs])
    n = len(v)
    member = sparse.block_diag([np.ones((1, len(values))) for values, _, _ in programs])
    eye, nothing = sparse.identity(n), sparse.csr_matrix(member.shape)
    result = linprog(
        np.concatenate([-v, np.zeros(n)]),
        A_ub=sparse.vstack(
            [
                sparse.hstack([eye, -eye]),
                sparse.hstack([-eye, -eye]),
                sparse.hstack([nothing, member]),
            ]
        ).tocsr(),
        b_ub=np.concatenate([centre, -centre, radii]),
        A_eq=sparse.hstack([member, nothing]).tocsr(),
        b_eq=np.ones(len(programs)),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert result.status == 0, result.message
    return member @ (result.x[:n] * v)


def proportions(weights):
    total = sum(weights)
    if total == 0:
        return np.full(len(weights), 1 / len(weights))
    return np.array(weights, float) / total


def plan_simultaneous(problem, radices, reward, weight, radii):
    """V̂(I) of every subset by linear programming; reward and weight are dictionaries by state."""
    subsets = [
        subset
        for k in range(problem.m + 1)
        for subset in itertools.combinations(range(len(radices)), k)
    ]
    programs = []
    for subset in subsets:
        states = [
            State(zip(subset, values, strict=True))
            for values in itertools.product(*(range(radices[i]) for i in subset))
        ]
        weights = [weight[s] for s in states]
        width = radii.outcomes + radii.per_outcome * len(states)
        values = np.array([problem.reward_value * reward[s] for s in states])
        programs.append((values, proportions(weights), radius(width, sum(weights), radii.cap)))
    costs = [sum(problem.observations[i].cost for i in subset) for subset in subsets]
    return l1_programs(programs) - np.array(costs)


def plan_sequential(problem, radices, reward, weight, radii):
    """F̂(ψ) of every state by linear programming, level by level; weight by (ψ, i, ψ')."""
    states = list(all_states(radices, problem.m))
    value = {s: problem.reward_value * reward[s] for s in states}
    for level in range(problem.m - 1, -1, -1):
        pairs, programs = [], []
        for s in states:
            if len(s) != level:
                continue
            for i in set(range(len(radices))) - domain(s):
                kids = children(s, i, radices)
                weights = [weight[s, i, kid] for kid in kids]
                width = radii.outcomes + radii.per_outcome * radices[i]
                values = np.array([value[kid] for kid in kids])
                programs.append(
                    (values, proportions(weights), radius(width, sum(weights), radii.cap))
                )
                pairs.append((s, i))
        for (s, i), mean in zip(pairs, l1_programs(programs), strict=True):
            value[s] = max(value[s], mean - problem.observations[i].cost)
    return value


NOTHING = State()


def all_policies(radices, actions, m, known=NOTHING):
    """Every sequential policy from a state on: an action, or (i, a policy for each value)."""
    yield from range(actions)
    if len(known) == m:
        return
    for i in sorted(set(range(len(radices))) - domain(known)):
        below = [
            list(all_policies(radices, actions, m, kid)) for kid in children(known, i, radices)
        ]
        for chosen in itertools.product(*below):
            yield (i, chosen)


def gain_of(policy, model):
    """The expected gain of such a policy, full state by full state."""
    total = 0.0
    for full in np.ndindex(model.probability.shape):
        spent, node = 0.0, policy
        while isinstance(node, tuple):
            i, below = node
            spent += model.problem.observations[i].cost
            node = below[full[i]]
        earned = model.problem.reward_value * model.reward[full][node] - spent
        total += model.probability[full] * earned
    return total


# --- given observations, panels, failures: states are dictionaries {name: outcome} ----------------


def spent(problem, known, on_file=()):
    """What was spent to know this much: prices and fees of what was bought and not refunded."""
    charged = {
        o.name
        for o in problem.observations
        if o.name in known
        and not o.given
        and o.name not in on_file
        and not (known[o.name] is None and o.fails == "refunded")
    }
    plain = [p for p in problem.panels if p.prices is None]
    fees = sum(p.fee for p in plain if charged.intersection(p.observations))
    return fees + cheapest_bill(problem, charged)


def cheapest_bill(problem, charged):
    """What these cost without fees: every way to pay for panels with prices of their own."""
    priced = [p for p in problem.panels if p.prices is not None]
    bills = []
    for size in range(len(priced) + 1):
        for paid in itertools.combinations(priced, size):
            bill = sum(p.fee for p in paid)
            for o in problem.observations:
                if o.name in charged:
                    bill += min([o.cost, *(p.prices[o.name] for p in paid if o.name in p.prices)])
            bills.append(bill)
    return min(bills)


def full_cases(model):
    """Every full state that can come, as (dictionary, probability, rewards of the actions)."""
    observations = model.problem.observations
    for places in np.ndindex(model.probability.shape):
        if model.probability[places] > 0:
            values = {o.name: o.outcomes[x] for o, x in zip(observations, places, strict=True)}
            yield values, float(model.probability[places]), model.reward[places].tolist()


def begin_alike(model):
    """The full cases by what is given in them."""
    given = [o.name for o in model.problem.observations if o.given]
    groups = defaultdict(list)
    for case in full_cases(model):
        groups[tuple((name, case[0][name]) for name in given)].append(case)
    return [(dict(known), cases) for known, cases in groups.items()]


def best_stop(problem, known, cases):
    """The most that acting now earns in these cases, times how likely they are."""
    likely = sum(p for _, p, _ in cases)
    earned = max(sum(p * r[a] for _, p, r in cases) for a in range(len(problem.actions)))
    return problem.reward_value * earned - likely * spent(problem, known)


def to_look_at(problem, known):
    """What may be bought next."""
    buyable = [o for o in problem.observations if not o.given]
    rest = [o for o in buyable if o.name not in known]
    return rest if len(buyable) - len(rest) < problem.m else []


def apart(cases, name):
    """The cases by what looking shows."""
    groups = defaultdict(list)
    for case in cases:
        groups[case[0][name]].append(case)
    return groups.items()


def best_sequential(problem, known, cases):
    """The best of all ways to go on from here, times how likely it is to be here."""
    best = best_stop(problem, known, cases)
    for o in to_look_at(problem, known):
        parts = apart(cases, o.name)
        best = max(
            best,
            sum(best_sequential(problem, known | {o.name: x}, part) for x, part in parts),
        )
    return best


def best_simultaneous(problem, known, cases):
    """The best of all sets to buy at once from here, times how likely it is to be here."""
    buyable = [o.name for o in problem.observations if not o.given]
    best = -math.inf
    for k in range(problem.m + 1):
        for names in itertools.combinations(buyable, k):
            seen = defaultdict(list)
            for case in cases:
                seen[tuple(case[0][name] for name in names)].append(case)
            gain = sum(
                best_stop(problem, known | dict(zip(names, shown, strict=True)), alike)
                for shown, alike in seen.items()
            )
            best = max(best, gain)
    return best


def count_ways(problem, known):
    """How many policies there are from here on."""
    total = len(problem.actions)
    for o in to_look_at(problem, known):
        total += math.prod(count_ways(problem, known | {o.name: x}) for x in o.outcomes)
    return total


def all_ways(problem, known):
    """Every policy from here on: an action, or (name, {outcome: a policy})."""
    yield from range(len(problem.actions))
    for o in to_look_at(problem, known):
        below = [list(all_ways(problem, known | {o.name: x})) for x in o.outcomes]
        for chosen in itertools.product(*below):
            yield o.name, dict(zip(o.outcomes, chosen, strict=True))


def gain_of_way(problem, way, known, cases):
    """What such a policy earns in these cases, one by one, times how likely they are."""
    total = 0.0
    for values, p, rewards in cases:
        node, seen = way, dict(known)
        while isinstance(node, tuple):
            name, below = node
            seen[name] = values[name]
            node = below[values[name]]
        total += p * (problem.reward_value * rewards[node] - spent(problem, seen))
    return total


def readable_states(problem):
    """Every state with what is given and at most m others, as frozensets of (name, outcome)."""
    given = [o for o in problem.observations if o.given]
    buyable = [o for o in problem.observations if not o.given]
    for k in range(problem.m + 1):
        for chosen in itertools.combinations(buyable, k):
            for shown in itertools.product(*(o.outcomes for o in (*given, *chosen))):
                names = [o.name for o in (*given, *chosen)]
                yield State(zip(names, shown, strict=True))


def plan_sets(problem, reward, weight, radii):
    """V̂ of every (context, set) by linear programming; reward and weight by state."""
    given = {o.name for o in problem.observations if o.given}
    context_subsets = defaultdict(list)
    for s in readable_states(problem):
        context = State(pair for pair in s if pair[0] in given)
        context_subsets[context, State(name for name, _ in s if name not in given)].append(s)
    programs = []
    for states in context_subsets.values():
        weights = [weight[s] for s in states]
        width = radii.outcomes + radii.per_outcome * len(states)
        values = np.array(
            [problem.reward_value * reward[s] - spent(problem, dict(s)) for s in states]
        )
        programs.append((values, proportions(weights), radius(width, sum(weights), radii.cap)))
    return dict(zip(context_subsets, l1_programs(programs).tolist(), strict=True))


def plan_paths(problem, reward, weight, radii):
    """F̂ of every state by linear programming, what was spent before it not counted.

    The price of a look is the difference that it makes to what is spent, outcome by outcome.
    """
    given = {o.name for o in problem.observations if o.given}
    states = list(readable_states(problem))
    value = {s: problem.reward_value * reward[s] for s in states}
    for level in range(problem.m - 1, -1, -1):
        looks, programs = [], []
        for s in states:
            if len(s) != level + len(given):
                continue
            before = spent(problem, dict(s))
            for o in to_look_at(problem, dict(s)):
                kids = [s | {(o.name, x)} for x in o.outcomes]
                weights = [weight[s, o.name, kid] for kid in kids]
                width = radii.outcomes + radii.per_outcome * len(kids)
                values = [value[kid] - (spent(problem, dict(kid)) - before) for kid in kids]
                programs.append(
                    (np.array(values), proportions(weights), radius(width, sum(weights), radii.cap))
                )
                looks.append(s)
        if programs:
            for s, mean in zip(looks, l1_programs(programs).tolist(), strict=True):
                value[s] = max(value[s], mean)
    return value
