"""Prices may depend on earlier purchases: panels, and failures that are refunded."""

import numpy as np

from askwise._kernels.jit import jit_internal
from askwise.states.layout import Layout
from askwise.states.prices import Tariff


@jit_internal
def price(layout: Layout, tariff: Tariff, subset: int, state: int, i: int) -> float:
    """Return c(I ∪ {i}) − c(I), the price of i in a state, where I is what was charged for."""
    total = tariff.cost[i]
    for place in range(tariff.first_panel[i], tariff.first_panel[i + 1]):
        if not has_paid(layout, tariff, subset, state, tariff.panel[place]):
            total += tariff.fee[tariff.panel[place]]
    if len(tariff.priced_fee) > 0:
        total += surcharge(layout, tariff, subset, state, i)
        total -= surcharge(layout, tariff, subset, state, -1)
    return total


@jit_internal
def has_panels(tariff: Tariff) -> bool:
    """Return whether the price of an observation depends on earlier purchases."""
    return len(tariff.fee) + len(tariff.priced_fee) > 0


@jit_internal
def surcharge(layout: Layout, tariff: Tariff, subset: int, state: int, i: int) -> float:
    """Return s(I ∪ {i}), or s(I) if i is −1: panels with their own prices, in the cheapest way."""
    place = state - layout.offsets[subset]
    best = np.inf
    for chosen in range(1 << len(tariff.priced_fee)):
        total = 0.0
        for panel in range(len(tariff.priced_fee)):
            if chosen >> panel & 1:
                total += tariff.priced_fee[panel]
        for j in range(layout.sizes[subset]):
            member = layout.members[subset, j]
            stride = layout.strides[subset, j]
            if place // stride % layout.radices[member] != tariff.refunded[member]:
                total += cheapest(tariff, chosen, member)
        if i >= 0:
            total += cheapest(tariff, chosen, i)
        best = min(best, total)
    return best


@jit_internal
def cheapest(tariff: Tariff, chosen: int, i: int) -> float:
    """Return min(a_i, b_Qi) over the panels Q that were chosen."""
    more = tariff.alone[i]
    for panel in range(len(tariff.priced_fee)):
        if chosen >> panel & 1:
            more = min(more, tariff.within[panel, i])
    return more


@jit_internal
def has_paid(layout: Layout, tariff: Tariff, subset: int, state: int, panel: int) -> bool:
    """Return whether a member of the panel was bought, and not refunded."""
    place = state - layout.offsets[subset]
    for j in range(layout.sizes[subset]):
        i = layout.members[subset, j]
        stride = layout.strides[subset, j]
        if place // stride % layout.radices[i] == tariff.refunded[i]:
            continue
        for k in range(tariff.first_panel[i], tariff.first_panel[i + 1]):
            if tariff.panel[k] == panel:
                return True
    return False


@jit_internal
def spent(layout: Layout, tariff: Tariff, subset: int, state: int) -> float:
    """Return c(I), where I is what was charged for: prices in the order of declaration, then
    fees.
    """
    place = state - layout.offsets[subset]
    total = 0.0
    for j in range(layout.sizes[subset]):
        i = layout.members[subset, j]
        if place // layout.strides[subset, j] % layout.radices[i] != tariff.refunded[i]:
            total += tariff.cost[i]
    for panel in range(len(tariff.fee)):
        if has_paid(layout, tariff, subset, state, panel):
            total += tariff.fee[panel]
    if len(tariff.priced_fee) > 0:
        total += surcharge(layout, tariff, subset, state, -1)
    return total
