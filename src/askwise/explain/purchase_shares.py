"""The share of the cases in which a policy buys each observation, and pays for it."""

from __future__ import annotations

from collections import defaultdict

from askwise.estimation.evidence import Evidence
from askwise.policy import Policy
from askwise.policy.trees import Act, Node
from askwise.states import Lattice


def purchase_shares(
    policy: Policy, evidence: Evidence
) -> tuple[list[float], list[float], list[float]]:
    """Returns the share of the cases that buy and that pay for each observation, and its fees.

    If several observations are bought together, the first declared one pays their shared fee.
    """
    lattice = policy.lattice
    bought, paid, fees = ([0.0] * lattice.buyable for _ in range(3))
    refunded, costs = lattice.tariff.refunded.tolist(), lattice.costs.tolist()
    waiting = list(enumerate(evidence.contexts().probability.tolist()))
    while waiting:
        state, share = waiting.pop()
        reached = [(state, share)]
        for i in policy.looks(state):
            outcomes = evidence.outcome_distribution(state, i)
            bought[i] += share
            back = 0.0 if outcomes is None or refunded[i] < 0 else outcomes.probability[refunded[i]]
            paid[i] += share * (1 - float(back))
            fees[i] += sum(part * (lattice.price(s, (i,)) - costs[i]) for s, part in reached)
            reached = [pair for one in reached for pair in _after(lattice, evidence, one, i)]
        if reached != [(state, share)]:
            waiting.extend(reached)
    alone = [lattice.tariff.cost_of([i]) - cost for i, cost in enumerate(costs)]
    means = [f / b if b > 0 else a for f, b, a in zip(fees, bought, alone, strict=True)]
    return bought, paid, means


def _after(
    lattice: Lattice, evidence: Evidence, one: tuple[int, float], i: int
) -> list[tuple[int, float]]:
    state, share = one
    outcomes = evidence.outcome_distribution(state, i)
    if outcomes is None:
        return []
    children = zip(lattice.children(state, i), outcomes.probability.tolist(), strict=True)
    return [(child, share * p) for child, p in children if p > 0]


def shares_in_tree(node: Node) -> dict[str, float]:
    """Returns the share of all cases that buy each observation at a node or below it."""
    found: dict[str, float] = defaultdict(float)
    if isinstance(node, Act):
        return found
    for name in node.bought:
        found[name] += 0.0 if node.reason is None else node.reason.share
    for _, child in node.branches:
        for name, share in shares_in_tree(child).items():
            found[name] += share
    return found
