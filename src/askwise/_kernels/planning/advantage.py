"""The sequential plan by advantage values an observation against acting without it."""

import math

import numpy as np

from askwise._kernels.jit import jit, jit_internal
from askwise._kernels.states.lattices import is_open, union_of
from askwise._support.typing import Choices, Floats
from askwise.states.layout import Layout


@jit_internal
def luck(deviation: float, behind: float) -> float:
    """Return E max(0, X) of a normal X with that deviation and the mean −`behind`."""
    if deviation <= 0.0:
        return 0.0
    z = behind / deviation
    if z > 8.0:
        return 0.0
    density = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    return deviation * density - behind * 0.5 * math.erfc(z / math.sqrt(2.0))


@jit
def paths_by_advantage(
    layout: Layout,
    beta: float,
    stop: Floats,
    spent: Floats,
    cases: Floats,
    weight: Floats,
    reward: Floats,
    offsets: Floats,
    spread: Floats,
    strength: Floats,
    charge: float,
    rebate: Floats,
    margin: float,
    out_value: Floats,
    out_look: Choices,
) -> None:
    """Compute F(ψ) and the best next observation of every state, from the largest states down.

    `stop` is what acting earns in each state, net of the costs of actions. `reward` is r(a, ψ) at
    [ψ, a], and `offsets` is subtracted from it in a subset, at [subset, a]. The probability of an
    outcome is proportional to its `weight`, and it was seen if it has `cases`. Where nothing was
    seen, nothing is bought.

    With `charge` above 0, an observation is charged `charge` times its apparent worth if it were
    uninformative. `spread` is the deviation, at [ψ, a], of the difference between a and the best
    action in one record. `strength` is the number of records by which the states of a subset are
    shrunk towards those with one value less.

    `rebate` is subtracted from the price of each observation after a subset, at [subset, i]. It is
    empty if prices do not depend on the order.
    """
    actions = reward.shape[1]
    m = layout.members.shape[1]
    blindly = np.empty(actions)
    for state in range(len(out_value)):
        out_value[state] = stop[state]
        out_look[state] = -1
    for subset in range(layout.levels[m] - 1, -1, -1):
        here = layout.offsets[subset]
        for i in range(len(layout.radices)):
            union, slot = union_of(layout, subset, i)
            if slot < 0 or not is_open(layout, subset, i):
                continue
            stride = layout.strides[union, slot]
            radix = layout.radices[i]
            above = layout.offsets[union]
            for state in range(here, layout.offsets[subset + 1]):
                if cases[state] <= 0.0:
                    continue
                place = state - here
                first = above + place + place // stride * stride * (radix - 1)
                mass, gained, lucky = 0.0, 0.0, 0.0
                for action in range(actions):
                    blindly[action] = 0.0
                for x in range(radix):
                    child = first + x * stride
                    mass += weight[child]
                    gained += weight[child] * (out_value[child] - spent[child])
                    if charge > 0.0 and cases[child] > 0.0:
                        most = 0.0
                        noise = beta * math.sqrt(cases[child]) / (cases[child] + strength[union])
                        for action in range(actions):
                            net = reward[state, action] + offsets[subset, action]
                            behind = stop[state] - beta * net
                            most = max(most, luck(noise * spread[state, action], behind))
                        lucky += weight[child] * most
                    for action in range(actions):
                        blindly[action] += weight[child] * reward[child, action]
                blind = blindly[0] + mass * offsets[subset, 0]
                for action in range(1, actions):
                    blind = max(blind, blindly[action] + mass * offsets[subset, action])
                worth = stop[state] + spent[state] + (gained - beta * blind) / mass
                worth -= charge * lucky / mass
                if len(rebate) > 0:
                    worth += rebate[subset, i]
                if worth > out_value[state] + margin:
                    out_value[state] = worth
                    out_look[state] = i


@jit
def spread_of_actions(
    probability: Floats,
    rewards: Floats,
    best: Choices,
    out_spread: Floats,
) -> None:
    """Compute the deviation of r(c, a) − r(c, best) over the classes of each state, at [ψ, a]."""
    classes, actions = rewards.shape
    for state in range(len(best)):
        for action in range(actions):
            mean, squares = 0.0, 0.0
            for c in range(classes):
                more = rewards[c, action] - rewards[c, best[state]]
                mean += probability[state, c] * more
                squares += probability[state, c] * more * more
            out_spread[state, action] = math.sqrt(max(squares - mean * mean, 0.0))
