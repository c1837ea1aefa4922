"""Populations in money: rare large losses, tiny differences near one end, graded rewards.

Every case has a hidden kind z (honest or fraud, repays or defaults, ill or well), of which the
observations show something:

    p(z, φ) = p(z) Π_i p(φ_i | z)

An action earns an amount by z and by what is given, more or less: amount · (1 + s u), u uniform on
[−1, 1]. So the mean reward of every action in every full state is known, and so are the oracle and
the best action without looking. What a family leaves open is drawn by its seed: constants of the
learner are chosen on seeds below `REPORTED`, and reported are those from there on.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

import askwise as aw
from askwise._support.typing import Floats
from askwise.simulation.environments import Draws

REPORTED = 1_000
Rng = np.random.Generator


class MoneyPopulation:
    """Cases of hidden kinds, whose actions earn amounts of money."""

    def __init__(
        self,
        observations: Sequence[aw.Observation],
        shown: Sequence[Floats],
        kinds: Floats,
        amounts: Mapping[str, Floats],
        spread: float,
        *,
        rewards: tuple[float, float] | None = None,
    ) -> None:
        """`shown[i]` is p(φ_i | z) at [z, value], `kinds` is p(z).

        `amounts[action]` is at [z], or at [z, value of the first observation]. The range of rewards
        is theirs, unless a wider one is said.
        """
        joint = np.asarray(kinds, np.float64)
        for of_kind in shown:
            joint = joint[..., None] * of_kind.reshape(len(kinds), *[1] * (joint.ndim - 1), -1)
        first = len(observations[0].values)
        table = [np.broadcast_to(np.reshape(a, (len(kinds), -1)), (len(kinds), first))
                 for a in amounts.values()]  # fmt: skip
        self.amounts: Floats = np.stack(table, axis=-1)
        """At [z, value of the first observation, a]."""
        self.spread = spread
        self.joint: Floats = joint
        most = self.amounts + spread * np.abs(self.amounts)
        least = self.amounts - spread * np.abs(self.amounts)
        self.problem = aw.Problem(
            observations=observations,
            actions=list(amounts),
            rewards=rewards or (float(least.min()), float(most.max())),
        )

    def model(self) -> aw.Model:
        """p(φ) and the mean of what every action earns there."""
        p = self.joint.sum(axis=0)
        middle = [1] * (self.joint.ndim - 2)
        amounts = self.amounts.reshape(*self.amounts.shape[:2], *middle, -1)
        low, high = self.problem.rewards or (0.0, 1.0)
        mean = (self.joint[..., None] * amounts).sum(axis=0) / p[..., None]
        return aw.Model(self.problem, p, np.clip(mean, low, high))

    def draw(self, rng: Rng, cases: int) -> Draws:
        """Independent cases."""
        flat = np.cumsum(self.joint)
        place = np.searchsorted(flat, rng.random(cases) * flat[-1], side="right")
        z, *values = np.unravel_index(place, self.joint.shape)
        luck = rng.uniform(-1.0, 1.0, (cases, 1))
        earned = self.amounts[z, values[0]]
        rewards = earned + self.spread * luck * np.abs(earned)
        return Draws(np.stack(values, axis=1).astype(np.int16), rewards)


def _sign(rng: Rng, values: int, *, strength: float, kinds: int = 2) -> Floats:
    """p(value | z): the higher the kind, the higher the value, more or less clearly."""
    place = np.linspace(-1.0, 1.0, values)
    lean = strength * rng.uniform(0.7, 1.3) * np.linspace(-1.0, 1.0, kinds)
    weight = np.exp(np.outer(lean, place) + rng.normal(0.0, 0.15, values))
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def _looks(rng: Rng, named: Mapping[str, tuple[int, float, float]]) -> tuple[list[aw.Observation], list[Floats]]:  # noqa: E501  # fmt: skip
    """Observations with so many values, a price, and how much they show."""
    observations = [
        aw.Observation(name, values=[f"{name} {k}" for k in range(values)],
                       cost=round(price * float(rng.uniform(0.7, 1.4)), 4))
        for name, (values, price, _) in named.items()
    ]  # fmt: skip
    return observations, [_sign(rng, n, strength=strength) for n, _, strength in named.values()]


def _given(name: str, values: int) -> aw.Observation:
    return aw.Observation(name, values=[f"{name} {k}" for k in range(values)], given=True)


def fraud(rng: Rng) -> MoneyPopulation:
    """Orders of three sizes; a fraud costs the order, a review some minutes, and misses a few."""
    amount = np.array([20.0, 80.0, 300.0])
    looks, shown = _looks(rng, {"device": (2, 0.05, 1.0), "history": (3, 0.2, 1.0), "bureau": (3, 0.6, 1.6)})  # noqa: E501  # fmt: skip
    sizes = np.array([[0.5, 0.35, 0.15], [0.2, 0.4, 0.4]])
    share, margin = rng.uniform(0.015, 0.04), rng.uniform(0.06, 0.1)
    missed, effort = 0.05, rng.uniform(1.5, 3.0)
    return MoneyPopulation(
        [_given("amount", 3), *looks],
        [sizes, *shown],
        np.array([1 - share, share]),
        {
            "approve": np.stack([margin * amount, -amount]),
            "review": np.stack([margin * amount - effort, -effort - missed * amount]),
            "decline": np.zeros(2),
        },
        0.1,
    )


def loans(rng: Rng) -> MoneyPopulation:
    """Loans that earn interest or default; a smaller loan risks less."""
    looks, shown = _looks(rng, {"income": (3, 1.0, 0.8), "bureau": (3, 2.0, 1.3), "statements": (2, 5.0, 1.3)})  # noqa: E501  # fmt: skip
    share, interest = rng.uniform(0.06, 0.12), rng.uniform(90, 130)
    lost = rng.uniform(700, 1100)
    return MoneyPopulation(
        looks,
        shown,
        np.array([1 - share, share]),
        {
            "decline": np.zeros(2),
            "lend half": np.array([0.48 * interest, -0.4 * lost]),
            "lend": np.array([interest, -lost]),
        },
        0.3,
    )


def disease(rng: Rng) -> MoneyPopulation:
    """A rare disease: to send an ill patient home costs a hundred times what treating costs."""
    looks, shown = _looks(rng, {"symptoms": (3, 2.0, 1.2), "blood": (2, 12.0, 1.7), "scan": (2, 60.0, 2.5)})  # noqa: E501  # fmt: skip
    share = rng.uniform(0.004, 0.012)
    treating, missing = rng.uniform(200, 350), rng.uniform(15_000, 25_000)
    return MoneyPopulation(
        looks,
        shown,
        np.array([1 - share, share]),
        {"send home": np.array([0.0, -missing]), "treat": np.array([-treating, -3 * treating])},
        0.2,
    )


def near_the_top(rng: Rng) -> MoneyPopulation:
    """Every action earns nearly the most there is: differences are a hundredth of the range."""
    looks, shown = _looks(rng, {"weight": (3, 0.02, 1.5), "zone": (2, 0.05, 1.5), "hour": (3, 0.03, 0.3)})  # noqa: E501  # fmt: skip
    gap = rng.uniform(0.8, 1.5, 3)
    return MoneyPopulation(
        looks,
        shown,
        np.array([0.6, 0.4]),
        {
            "road": np.array([98.6, 98.6 - gap[0]]),
            "rail": np.array([98.6 - gap[1], 98.6]),
            "air": np.array([98.6 - 0.45 * gap[2]] * 2),
        },
        0.003,
        rewards=(0.0, 100.0),
    )


def graded(rng: Rng) -> MoneyPopulation:
    """Offers that earn more or less, never nothing and never all."""
    looks, _ = _looks(rng, {"visits": (3, 0.5, 1.2), "basket": (3, 1.0, 1.4), "survey": (2, 3.0, 2.2)})  # noqa: E501  # fmt: skip
    a, b, c = rng.uniform(20, 60, (3, 3))
    return MoneyPopulation(
        looks,
        [_sign(rng, len(o.values), strength=1.4, kinds=3) for o in looks],
        np.array([0.4, 0.35, 0.25]),
        {"discount": a, "bundle": b, "nothing": c},
        0.25,
    )


def cascade(rng: Rng) -> MoneyPopulation:
    """A cheap model, a strong one and a person; a verifier says how likely the cheap is right."""
    looks, shown = _looks(rng, {"verifier": (4, 0.002, 1.6), "second opinion": (2, 0.004, 1.2)})
    share = rng.uniform(0.12, 0.25)
    right, wrong = 0.1, -rng.uniform(0.3, 0.6)
    strong = rng.uniform(0.02, 0.03)
    length = _sign(rng, 3, strength=0.7)
    return MoneyPopulation(
        [_given("length", 3), *looks],
        [length, *shown],
        np.array([1 - share, share]),
        {
            "send the cheap answer": np.array([right, wrong]),
            "ask the strong model": np.array(
                [right - strong, 0.85 * right + 0.15 * wrong - strong]
            ),
            "ask a person": np.array([right - 0.12, right - 0.12]),
        },
        0.05,
    )


def breakdown(rng: Rng) -> MoneyPopulation:
    """Machines that break down: rarely, and then at the cost of a day."""
    looks, _ = _looks(rng, {"vibration": (3, 1.0, 1.3), "oil": (2, 4.0, 1.3), "endoscope": (2, 15.0, 2.3)})  # noqa: E501  # fmt: skip
    share = rng.uniform(0.02, 0.05)
    return MoneyPopulation(
        looks,
        [_sign(rng, len(o.values), strength=1.6, kinds=3) for o in looks],
        np.array([0.85 - share, 0.15, share]),
        {
            "run on": np.array([50.0, 20.0, -rng.uniform(1_500, 2_500)]),
            "service": np.array([10.0, 30.0, -rng.uniform(400, 700)]),
            "replace": np.full(3, -rng.uniform(60, 110)),
        },
        0.2,
    )


FAMILIES: dict[str, Callable[[Rng], MoneyPopulation]] = {
    "fraud with amounts": fraud,
    "loans": loans,
    "rare disease": disease,
    "near the top": near_the_top,
    "graded": graded,
    "LLM cascade": cascade,
    "breakdown": breakdown,
}


def population(family: str, seed: int) -> MoneyPopulation:
    """The population of a family that belongs to a seed, at which looking pays."""
    for attempt in range(100):
        found = FAMILIES[family](np.random.default_rng((seed, attempt)))
        blind, best = bounds(found.model())
        if best - blind > 0.02 * min(abs(best), float(np.ptp(found.amounts))):
            return found
    raise ValueError(f"{family} of seed {seed}: looking never pays")


def bounds(model: aw.Model) -> tuple[float, float]:
    """What the best action gains without looking, and what the oracle gains."""
    return aw.oracle.fixed(model, []).value, aw.oracle.sequential(model).value
