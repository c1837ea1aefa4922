"""A stand-in for the paper's 10,000 breast-cancer patients, which are not public."""

import numpy as np

from askwise._support.typing import Floats
from askwise.estimation.models import Model
from askwise.problem import Observation, Problem

AGES = ("<40", "40-49", "50-64", "65+")
RECEPTORS = ("negative", "positive")
STAGES = ("I", "II", "III")
SCORES = (0, 1, 2, 3, 4)
REGIMENS = ("AC", "ACT", "CAF", "CEF")

AGE = (0.10, 0.25, 0.40, 0.25)
POSITIVE = (0.55, 0.62, 0.74, 0.80)
STAGE = (0.40, 0.40, 0.20)
SCORE = (0.34, 0.26, 0.16, 0.14, 0.10)
SHADE = 1.35
"""One shade later or worse: each grade gets so much likelier than the one before it."""
TOXICITY = (0.0, 0.0, 0.3, 3.2, 4.0)
LUCK = 0.35


def breast_cancer(
    cost: float = 5.0, *, max_observations: int = 3, reward_value: float = 100.0
) -> Model:
    """Breast-cancer patients and four chemotherapy regimens, as in the paper's experiment.

    Reward 1 for the chemotherapy regimen with the best outcome for this patient, else 0. Everything
    assumed is in the table below; the joint distribution is exact, so oracles are too.

    | what | assumed | why |
    | --- | --- | --- |
    | age | <40 .10, 40-49 .25, 50-64 .40, 65+ .25 | 4 groups, around menopause and frailty |
    | estrogen receptor | positive with .55, .62, .74, .80 by age | rises with age |
    | tumour stage | I .40, II .40, III .20; a shade later if receptor-negative or under 40 | \
      3 stages: IV is not treated with these regimens |
    | WHO score | 0 to 4, fit to bedridden; a shade worse with each age group and stage | \
      5 grades: at 3 and 4 chemotherapy does harm |
    | outcome of AC | 0, the reference | 4 cycles, the mildest (NSABP B-15) |
    | outcome of ACT | −0.4; if receptor-negative +1.5 at stage II, +2.6 at III | \
      the taxane helps receptor-negative, node-positive disease (CALGB 9344) |
    | outcome of CAF | −0.6; if receptor-positive and 50 or older +1.7, at II and III +2.3 | \
      helps postmenopausal women beside tamoxifen (SWOG 8814) |
    | outcome of CEF | −0.5; if receptor-positive and under 50 +1.9 | \
      helps premenopausal women (NCIC MA.5) |
    | toxicity | of ACT, CAF and CEF: −0.3 at WHO score 2, −3.2 at 3, −4 at 4 | \
      the frail bear long regimens badly |
    | luck | a Gumbel number of scale 0.35 on each outcome | \
      patients differ: a regimen is the best with probability softmax(outcome / 0.35) |

    Outcomes are in log-odds of being well at five years. The numbers are chosen, not estimated:
    only their direction is taken from the trials named. A shade: each grade becomes 1.35 times
    likelier, compared with the one before it.

    `cost` is the price of each observation.

    >>> import askwise as aw
    >>> model = breast_cancer(cost=5.0)
    >>> [round(f(model).value, 2) for f in (aw.oracle.simultaneous, aw.oracle.sequential)]
    [76.74, 83.4]
    """
    problem = Problem(
        observations=[
            Observation("age", values=AGES, cost=cost),
            Observation("estrogen receptor", values=RECEPTORS, cost=cost),
            Observation("tumour stage", values=STAGES, cost=cost),
            Observation("WHO score", values=SCORES, cost=cost),
        ],
        actions=REGIMENS,
        max_observations=max_observations,
        reward_value=reward_value,
    )
    return Model(problem, _patients(), _best_regimen())


def _patients() -> Floats:
    """p(age, receptor, stage, score)."""
    p = np.empty((4, 2, 3, 5))
    for age, receptor, stage in np.ndindex(4, 2, 3):
        positive = POSITIVE[age]
        late = (receptor == 0) + (age == 0)
        frail = (age - 1) + (stage - 1)
        here = AGE[age] * (positive if receptor else 1 - positive)
        p[age, receptor, stage] = here * _shaded(STAGE, late)[stage] * _shaded(SCORE, frail)
    p /= p.sum()
    return p


def _shaded(distribution: tuple[float, ...], shades: int) -> Floats:
    weight: Floats = np.array(distribution) * SHADE ** (shades * np.arange(len(distribution)))
    weight /= weight.sum()
    return weight


def _best_regimen() -> Floats:
    """r̄(a, φ): the probability that regimen a has the best outcome."""
    age, receptor, stage, score = np.ogrid[0:4, 0:2, 0:3, 0:5]
    negative, positive, older = receptor == 0, receptor == 1, age >= 2
    toxic = np.array(TOXICITY)[score]
    ac = np.zeros((4, 2, 3, 5))
    act = -0.4 + negative * np.array([0.0, 1.5, 2.6])[stage] - toxic
    caf = -0.6 + (positive & older) * (1.7 + 0.6 * (stage >= 1)) - toxic
    cef = -0.5 + (positive & ~older) * 1.9 - toxic
    outcome = np.stack(np.broadcast_arrays(ac, act, caf, cef), axis=-1) / LUCK
    likely: Floats = np.exp(outcome - outcome.max(axis=-1, keepdims=True))
    likely /= likely.sum(axis=-1, keepdims=True)
    return likely
