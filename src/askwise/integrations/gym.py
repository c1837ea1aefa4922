"""Cases as episodes of a Gymnasium environment, for agents that were not made for this problem.

One episode is one case. Buying i costs c(I ∪ {i}) − c(I), including refunds, and its reward is
minus that. Acting ends the episode with β r, or with the amount earned if rewards are money. So the
sum of an episode's rewards is the gain of the case, and the best expected sum is
`askwise.policy.oracle.sequential(model).value`. With a stake, the reward of acting counts that many
times, and the best expected sum is `oracle.sequential(model, stake=stake).value`.

    import askwise.gym  # registers the environment
    env = gymnasium.make("askwise/CostlyObservations-v0", model=model)

The observation space is `MultiDiscrete`. For each observation, in the order of declaration, it has
0 if the observation was not made, and otherwise 1 + the place of its outcome. It can index a table
directly, and `gymnasium.wrappers.FlattenObservation` makes it a flat one-hot `Box` for a network.
An action is one number: the observations that can be bought, in the order of declaration, then the
actions.

Buying a known observation, or more than m, closes the case. The episode ends with the lowest reward
and `info["invalid"]`, so an invalid choice is never better than any action. If invalid choices were
ignored, an agent could repeat them for ever. A penalty would be one more number to choose.
`info["action_mask"]` has a 1 for every valid choice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from askwise._support.extras import need
from askwise._support.numbers import as_price, shown
from askwise._support.typing import Floats, Integers
from askwise.errors import CaseError, OptionError
from askwise.estimation.models import Model
from askwise.problem.amounts import check_stake
from askwise.simulation.environments import Environment, Population
from askwise.simulation.environments.base import StakedDraws
from askwise.states import Lattice

need("gymnasium", "gym")  # one clear error, if it is not installed
import gymnasium  # noqa: E402

ID = "askwise/CostlyObservations-v0"


class CostlyObservations(gymnasium.Env[Integers, int]):
    """An environment with one case an episode, drawn from a `Population`, a `Table` or a model.

    `stake` is how many times the reward of a case counts. Cases of a `Staked` environment have
    their own stakes. `info["stake"]` has the stake of the case.

    >>> import gymnasium
    >>> from askwise.simulation.environments import breast_cancer
    >>> env = gymnasium.make("askwise/CostlyObservations-v0", model=breast_cancer(cost=5.0))
    >>> seen, info = env.reset(seed=0)
    >>> seen.tolist(), info["action_mask"].tolist()
    ([0, 0, 0, 0], [1, 1, 1, 1, 1, 1, 1, 1])
    >>> seen, reward, terminated, truncated, info = env.step(1)
    >>> seen.tolist(), reward, terminated
    ([0, 2, 0, 0], -5.0, False)
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012

    def __init__(
        self,
        environment: Environment | None = None,
        *,
        model: Model | None = None,
        stake: float | None = None,
        render_mode: str | None = None,
    ) -> None:
        if (environment is None) == (model is None):
            raise OptionError("expected an environment or a model: give one of them")
        if environment is None:
            environment = Population(model)  # type: ignore[arg-type]  # it raises the error
        if not hasattr(environment, "draw"):
            kind = type(environment).__name__
            raise OptionError(f"environment: expected a Population or a Table, got a {kind}")
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise OptionError(f"render_mode must be 'ansi' or None, got {render_mode!r}")
        if stake is not None:
            stake = check_stake(stake, environment.problem.reward_value)
        self.environment = environment
        self.stake = stake
        """The stake of every case; None if it is 1, or if the environment draws stakes."""
        self._stake = 1.0
        self.render_mode = render_mode
        self.problem = environment.problem
        self.lattice = Lattice(self.problem)
        self.observation_space = gymnasium.spaces.MultiDiscrete(
            [1 + len(o.outcomes) for o in self.problem.observations]
        )
        self.action_space = gymnasium.spaces.Discrete(
            self.lattice.buyable + len(self.problem.actions)
        )  # type: ignore[assignment]  # its actions are NumPy's integers
        self._values: list[int] = []
        self._rewards: Floats = np.zeros(0)
        self._state: int | None = None
        """The state of the case, as an integer of the lattice; None if there is no open case."""
        self._told = "no case yet"

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Integers, dict[str, Any]]:
        """Draws another case, in which the given observations are known."""
        super().reset(seed=seed)
        draws = self.environment.draw(self.np_random, 1)
        self._values = [int(draws.values[0, place]) for place in self.lattice.order]
        self._rewards = draws.rewards[0]
        self._stake = 1.0 if self.stake is None else self.stake
        if isinstance(draws, StakedDraws):
            if self.stake is not None:
                raise OptionError("the environment draws stakes of its own: leave stake= out")
            self._stake = float(draws.stakes[0])
        given = range(self.lattice.buyable, len(self._values))
        self._state = self.lattice.index_of({i: self._values[i] for i in given})
        self._told = self._tell("")
        return self._seen(self._state), self._info(self._state)

    def step(self, action: int) -> tuple[Integers, float, bool, bool, dict[str, Any]]:
        """Buys an observation, or takes an action, which ends the case. An impossible choice ends
        it too.
        """
        state, buyable = self._state, self.lattice.buyable
        if state is None:
            raise CaseError("there is no open case: call reset() first")
        if not self.action_space.contains(action):
            most = buyable + len(self.problem.actions) - 1
            raise CaseError(f"unknown action {action!r}, expected a number from 0 to {most}")
        if action >= buyable and self._mask(state)[action]:
            place = int(action) - buyable
            worth = 1.0 if self.problem.rewards else self.problem.reward_value
            earned = self._stake * worth * float(self._rewards[place])
            reward = earned - self.problem.actions[place].cost
            self._told = self._tell(f"{self.problem.action_names[place]}: {shown(reward)}")
            return self._close(state, reward)
        i = int(action)
        if not self._mask(state)[i]:
            names = [o.name for o in self.lattice.observations[:buyable]]
            wanted = [*(f"look at {name}" for name in names), *self.problem.action_names][i]
            self._told = self._tell(f"no {wanted}: closed")
            return self._close(state, self._stake * self.problem.lowest_reward, invalid=True)
        self._state = after = self.lattice.children(state, i)[self._values[i]]
        self._told = self._tell("")
        price = self.lattice.spent(after) - self.lattice.spent(state)
        return self._seen(after), -price, False, False, self._info(after)

    def render(self) -> str | None:
        """Returns the case as text, if the mode is "ansi"."""
        return self._told if self.render_mode == "ansi" else None

    def _close(
        self, state: int, reward: float, **more: bool
    ) -> tuple[Integers, float, bool, bool, dict[str, Any]]:
        self._state = None
        return self._seen(state), reward, True, False, {**self._info(state), **more}

    def _seen(self, state: int) -> Integers:
        seen: Integers = np.zeros(len(self._values), np.int64)
        for i, digit in self.lattice.digits(state):
            seen[self.lattice.order[i]] = 1 + digit
        return seen

    def _mask(self, state: int) -> npt.NDArray[np.int8]:
        mask = np.ones(self.lattice.buyable + len(self.problem.actions), np.int8)
        known = self.lattice.domain(state)
        looks = slice(self.lattice.buyable) if len(known) == self.lattice.m else list(known)
        mask[looks] = 0
        if self.problem.has_rules:
            subset = self.lattice.subset_of(state)
            is_open = [self.lattice.is_open(subset, i) for i in range(self.lattice.buyable)]
            mask &= np.array([*is_open, *self.lattice.may_act[subset]], np.int8)
        return mask

    def _info(self, state: int) -> dict[str, Any]:
        return {
            "action_mask": self._mask(state),
            "known": self.lattice.state(state),
            "cost": self.lattice.spent(state),
            "stake": self._stake,
        }

    def _tell(self, end: str) -> str:
        assert self._state is not None
        known = self.lattice.state(self._state)
        lines = [
            f"{name}: {'nothing' if value is None else value}" for name, value in known.items()
        ]
        lines.append(f"spent: {as_price(self.lattice.spent(self._state))}")
        return "\n".join([*lines, end] if end else lines)


if ID not in gymnasium.registry:
    gymnasium.register(id=ID, entry_point="askwise.gym:CostlyObservations")
