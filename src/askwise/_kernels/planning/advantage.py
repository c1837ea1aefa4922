"""The sequential plan by advantage: what a look adds, counted against acting blindly."""

import numpy as np

from askwise._kernels.jit import jit
from askwise._kernels.states.lattices import union_of
from askwise._support.typing import Choices, Floats
from askwise.states.layout import Layout


@jit
def paths_by_advantage(
    layout: Layout,
    beta: float,
    spent: Floats,
    cases: Floats,
    weight: Floats,
    reward: Floats,
    charge: Floats,
    margin: float,
    out_value: Floats,
    out_look: Choices,
) -> None:
    """F(ψ) and the best next look of every state, from the largest states down.

    `reward` is r(a, ψ) at [ψ, a]. An outcome is as likely as its `weight`; it was seen if it has
    `cases`, and a look is charged `charge` for each further outcome that was. Where nothing was
    seen, nothing is bought.
    """
    actions = reward.shape[1]
    m = layout.members.shape[1]
    blindly = np.empty(actions)
    for state in range(len(out_value)):
        best = reward[state, 0]
        for action in range(1, actions):
            best = max(best, reward[state, action])
        out_value[state] = beta * best
        out_look[state] = -1
    stop = out_value.copy()
    for subset in range(layout.levels[m] - 1, -1, -1):
        here = layout.offsets[subset]
        for i in range(len(layout.radices)):
            union, slot = union_of(layout, subset, i)
            if slot < 0:
                continue
            stride = layout.strides[union, slot]
            radix = layout.radices[i]
            above = layout.offsets[union]
            for state in range(here, layout.offsets[subset + 1]):
                if cases[state] <= 0.0:
                    continue
                place = state - here
                first = above + place + place // stride * stride * (radix - 1)
                mass, gained, seen = 0.0, 0.0, 0
                for action in range(actions):
                    blindly[action] = 0.0
                for x in range(radix):
                    child = first + x * stride
                    mass += weight[child]
                    gained += weight[child] * (out_value[child] - spent[child])
                    seen += cases[child] > 0.0
                    for action in range(actions):
                        blindly[action] += weight[child] * reward[child, action]
                blind = blindly[0]
                for action in range(1, actions):
                    blind = max(blind, blindly[action])
                worth = stop[state] + spent[state] + (gained - beta * blind) / mass
                worth -= charge[state] * (seen - 1)
                if worth > out_value[state] + margin:
                    out_value[state] = worth
                    out_look[state] = i
