"""The sequential plan at the exact t is searched in tables that bound it.

With t itself in the radii every value changes in every round. But the tables of
`sequential_updates`, made for a somewhat later t, are upper bounds, because wider radii promise
more. So the plan is searched from the empty state on, best bound first. An observation is evaluated
only if its bound exceeds the best value found so far. Its value comes from its outcomes, which are
searched in the same way. The values found, and every choice on the way, are those of the full plan.
"""

from askwise._kernels.jit import jit_internal
from askwise._kernels.planning.optimism import optimistic_reward
from askwise._kernels.planning.plan_inputs import PlanInputs
from askwise._kernels.planning.sequential_updates import Tables, mean_of_look, subset_of
from askwise._kernels.states.lattices import child, contexts_of, is_open
from askwise._kernels.states.prices import has_panels, price
from askwise._kernels.states.rows import find, state_of
from askwise._support.typing import Choices
from askwise.states.layout import Layout
from askwise.states.rows import Counters


@jit_internal
def begin_state(
    layout: Layout, counters: Counters, tables: Tables, inputs: PlanInputs, row: int, level: int
) -> bool:
    """Compute the value of stopping. Return whether nothing better can be found."""
    subset = 0
    if len(inputs.action_offsets) > 0:
        subset = subset_of(layout, counters, tables, row)
    reward, action = optimistic_reward(
        counters.action_counts,
        counters.reward_sums,
        counters.graded_sums,
        row,
        inputs.unit,
        inputs.reward_width,
        inputs.by_variance,
        inputs.measured,
        subset,
        inputs.action_offsets,
    )
    tables.search[row] = tables.searches[0]
    tables.found[row] = inputs.beta * reward
    tables.action[row] = action
    tables.look[row] = -1
    return reward == inputs.top or level == layout.members.shape[1]


@jit_internal
def next_look(
    layout: Layout,
    tables: Tables,
    inputs: PlanInputs,
    row: int,
    subset: int,
    state: int,
    untried: Choices,
) -> int:
    """Return the untried observation with the highest bound, if it may be the best, else −1."""
    highest = tables.found[row]
    choice = tables.look[row]
    is_bounded = tables.stop[row] < inputs.most  # otherwise `most` is the only bound
    look = -1
    for i in range(len(inputs.cost)):
        if untried[i] != 0 and is_open(layout, subset, i):
            if is_bounded:
                bound = tables.cache[tables.cache_of[row], i]
            elif inputs.tariff.refunded[i] >= 0:
                bound = inputs.most
            elif has_panels(inputs.tariff):
                bound = inputs.most - price(layout, inputs.tariff, subset, state, i)
            else:
                bound = inputs.most - inputs.cost[i]
            if bound > highest or (bound == highest and look < 0 and i < choice):
                highest = bound
                look = i
    return look


@jit_internal
def search_plan(layout: Layout, counters: Counters, tables: Tables, inputs: PlanInputs) -> None:
    """Compute F̂, ĝ and ĥ of the start states and of all states that the policy can reach."""
    tables.searches[0] += 1
    for context in range(contexts_of(layout)):
        row = find(counters.rows, context)
        # if no action was ever rewarded, the tables have the plan: the first action
        if tables.is_acted[row] != 0:
            search_from(layout, counters, tables, inputs, row)


@jit_internal
def search_from(
    layout: Layout, counters: Counters, tables: Tables, inputs: PlanInputs, start: int
) -> None:
    """Compute F̂, ĝ and ĥ of a start row and of all states that the policy can reach from it."""
    rows, look, outcome = tables.search_at[0], tables.search_at[1], tables.search_at[2]
    untried = tables.untried
    level = 0
    rows[0] = start
    if begin_state(layout, counters, tables, inputs, start, 0):
        return
    look[0] = -1
    untried[0] = 1
    while level >= 0:
        row = rows[level]
        subset = subset_of(layout, counters, tables, row)
        state = state_of(counters.rows, row)
        if look[level] < 0:
            look[level] = next_look(layout, tables, inputs, row, subset, state, untried[level])
            outcome[level] = 0
            if look[level] < 0:
                level -= 1
                continue
            untried[level, look[level]] = 0
        i = look[level]
        _, first, stride, slot = child(layout, subset, state, i)
        goes_deeper = False
        while outcome[level] < layout.radices[i] and not goes_deeper:
            x = outcome[level]
            below = find(counters.rows, first + x * stride)
            if (
                tables.is_acted[below] != 0
                and tables.search[below] != tables.searches[0]
                and not begin_state(layout, counters, tables, inputs, below, level + 1)
            ):
                goes_deeper = True
                rows[level + 1] = below
                look[level + 1] = -1
                union = subset_of(layout, counters, tables, below)
                untried[level + 1] = 1
                for j in range(level + 1):
                    untried[level + 1, layout.members[union, j]] = 0
            else:
                is_known = tables.is_acted[below] != 0
                tables.values[level, x] = tables.found[below] if is_known else inputs.most
                tables.weights[level, x] = counters.transitions[below, slot]
                outcome[level] += 1
        if goes_deeper:
            level += 1
            continue
        cost = inputs.cost[i]
        if has_panels(inputs.tariff):
            cost = price(layout, inputs.tariff, subset, state, i)
        worth = mean_of_look(tables, inputs, i, level, layout.radices[i], cost)
        best = tables.found[row]
        if worth > best or (worth == best and i < tables.look[row]):
            tables.found[row] = worth
            tables.look[row] = i
        look[level] = -1
