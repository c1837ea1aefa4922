"""The bodies and answers of all calls, as types.

Numbers are finite. Booleans are not numbers, but may stand for values. Unknown fields are refused.
The OpenAPI document is made from these types."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from askwise._support.documents import prepare
from askwise.problem import Problem
from askwise.problem.amounts import LARGEST_AMOUNT
from askwise.service.api.reports import BudgetAnswer
from askwise.service.api.served_learners import served

Name = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z",  # $ would stand before a last newline too
        description="1 to 64 letters, digits, dots, dashes, underscores; a letter or digit first.",
    ),
]
KEY_RULE = "1 to 200 characters of ASCII without spaces, for example a UUID"
Key = Annotated[str, Meta(pattern=r"^[!-~]{1,200}\Z", description=f"{KEY_RULE}.")]
Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
CaseNumber = Annotated[int, Meta(ge=1, le=2**53)]
Text = Annotated[str, Meta(max_length=200)]
"""A text as long as a declared value may be, because an undeclared value is stored too."""

Seen = Text | Whole | float | bool | None
"""A value, a boolean that stands for one, a number or a date for its bin, or null for a failed
observation.
"""


class Body(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The body of a request, without other fields."""


class ChosenLearner(Body, omit_defaults=False):
    """A learner of the registry, by its name, and its options."""

    name: Annotated[str, Meta(examples=served())] = "learner"
    options: dict[str, Any] = {}


class NewProject(Body):
    """A problem and its learner; or a saved learner, with its knowledge."""

    name: Name
    problem: Problem | None = None
    learner: ChosenLearner = msgspec.field(default_factory=ChosenLearner)
    saved: bytes | None = None
    """A learner as the library saves it, in Base64, in place of problem and learner."""


class Opening(Body):
    """A new case: given values and values on file, its own prices, its stake."""

    known: dict[str, Seen] | None = None
    prices: dict[str, float] | None = None
    stake: Annotated[float, Meta(gt=0.0, le=1e9)] = 1.0


class Observing(Body):
    """The values of what was bought. `paid` is its price, if that was not known.

    With `unasked`, people made some of the observations without being asked. They knew more about
    the case than it did, unless `knew_more` is false.
    """

    values: dict[str, Seen]
    paid: dict[str, float] | None = None
    unasked: bool = False
    knew_more: bool = True


class Acting(Body):
    """The action that people took, who knew more about the case unless `knew_more` is false.
    `propensity` is the probability of stopping with this action, if it is known.
    """

    action: Text
    knew_more: bool = True
    propensity: Annotated[float, Meta(gt=0.0, le=1.0)] | None = None


class Rewarding(Body):
    """The reward of a case, which may be a default or a correction.

    It is from 0 to 1, or within `rewards` in the currency if the problem has them.
    """

    reward: Annotated[float, Meta(ge=-LARGEST_AMOUNT, le=LARGEST_AMOUNT)]
    default: bool = False
    replaces: bool = False


class Cancelling(Body):
    """The case is abandoned."""


class BlockEnd(Body, omit_defaults=False):
    """A block of cases is over, and the project forgets some blocks. The replanner writes it."""

    block: Annotated[int, Meta(ge=1)]
    """The number of blocks that are over."""
    first: Annotated[int, Meta(ge=0)]
    """The oldest block that is remembered."""
    drift: bool = False
    """Whether everything before it is forgotten because the population has changed."""


class BatchItem(Body):
    """One request of a batch, with its own key.

    It has exactly one of open, observations, acted, reward, cancel.
    """

    key: Key
    case: CaseNumber | None = None
    open: Opening | None = None
    observations: Observing | None = None
    acted: Acting | None = None
    reward: Rewarding | None = None
    cancel: Cancelling | None = None


class CaseAnswer(msgspec.Struct, omit_defaults=True):
    """What to buy now, or the action."""

    case: int
    wanted: tuple[str, ...]
    action: str | None
    cost: float
    policy_version: int
    propensity: tuple[float, ...] | None = None
    """With the action: the probability of each observation, and then of the action."""


class ProjectAnswer(msgspec.Struct):
    """A project with its current state."""

    name: str
    problem: Problem
    learner: ChosenLearner
    created: str
    policy_version: int
    cases: int
    events: int
    planned_events: int
    """The number of events behind the current policy."""
    planned: str
    plan_failure: str | None
    archived: str | None = None
    """The time since which it refuses requests; null if it accepts them."""
    token: str | None = None
    """Only when it was just created."""


class EventLine(msgspec.Struct):
    """One event, a line of the export."""

    seq: int
    key: str
    kind: str
    case: int | None
    at: str
    status: int
    body: msgspec.Raw
    answer: msgspec.Raw


class DaySummary(msgspec.Struct):
    """The summary of one day, UTC."""

    day: str
    opened: int
    acted: int
    rewarded: int
    cancelled: int
    reward: float
    spend: float
    gain: float
    stake: float
    """The sum of the stakes of the cases that got their first reward."""


class BlockSummary(msgspec.Struct):
    """The summary of the cases with these numbers, on any days."""

    first: int
    last: int
    acted: int
    rewarded: int
    awaited: int
    """The cases that acted and have no reward yet."""
    reward: float
    spend: float
    stake: float
    """The sum of the stakes of the rewarded cases."""


class EstimateAnswer(msgspec.Struct):
    """An estimate with its interval of 95 %."""

    value: float
    low: float
    high: float


class OverruledAnswer(msgspec.Struct):
    """An action that people took instead of the advice, with its count and mean reward."""

    action: str
    cases: int
    rewarded: int
    """The number of those that have their reward."""
    reward: float | None
    """The mean of these, per unit of stake; null if there is none."""


class Summary(msgspec.Struct):
    """The earnings and the spend of a project. A reward is multiplied by its case's stake."""

    cases: int
    statuses: dict[str, int]
    reward: float
    spend: float
    gain: float
    """What the rewards are worth, less what was spent."""
    bought: dict[str, int]
    days: list[DaySummary]
    blocks: list[BlockSummary]
    """The blocks of cases; they get wider as there are more cases."""
    overruled: list[OverruledAnswer]
    unasked: dict[str, int]
    """How often people made each observation without being asked."""
    still_to_learn: EstimateAnswer | None = None
    """What perfect knowledge of the population would add a case, by the newest policy version for
    which it was computed; null if it is not known.
    """
    budget: BudgetAnswer | None = None
    """The spend within the budget; null without a budget."""
    behind: float | None = None
    """The lag in seconds of the read-only database that this was read from; null if there is none.
    """


class TreeAnswer(msgspec.Struct):
    """A policy as a tree. Each node has the current estimates."""

    value: float | None
    """The expected gain of a case, at the root of the tree; null if unknown."""
    text: str
    tree: dict[str, Any]


class PolicyAnswer(msgspec.Struct):
    """The policy that cases follow, and the recommended one."""

    policy_version: int
    follows: TreeAnswer
    recommends: TreeAnswer
    stake: float = 1.0


class Demand(msgspec.Struct):
    """From this price up to the next, the best policy buys in this share of the cases."""

    price: float
    share: float


class DemandBand(msgspec.Struct):
    """The 95 % interval of the share of the cases in which the best policy buys, at a price."""

    price: float
    low: float
    high: float


class ObservationAnswer(msgspec.Struct):
    """The worth of one observation; null if it does not matter by the estimates, or if there are no
    cases yet.
    """

    name: str
    cost: float
    bought: int = 0
    """How often it was bought so far."""
    share: float | None = None
    """The share of the cases in which the recommended policy buys it, within the budget."""
    adds: float | None = None
    adds_low: float | None = None
    adds_high: float | None = None
    """The interval of what it adds, 95 %."""
    adds_if_free: float | None = None
    break_even: float | None = None
    """The highest price at which the best policy still buys it; null also if there is no limit."""
    break_even_low: float | None = None
    break_even_high: float | None = None
    """The interval of that, 95 %; null where it has no end."""
    verdict: str | None = None
    """Whether it pays over the whole interval: "pays", "does not pay", "not known yet"; or "no
    cases yet".
    """
    cases_to_settle: float | None = None
    """About how many more cases will settle that; null if it cannot be foreseen."""
    fees: float = 0.0
    """The mean panel fees where it is bought, which are in none of the prices above."""
    demand: list[Demand] = []
    demand_band: list[DemandBand] = []


class WorthAnswer(msgspec.Struct):
    """The worth of each observation, and the gain of a case, by the current estimates."""

    policy_version: int
    observations: list[ObservationAnswer]
    gain: float | None = None
    """The gain of the recommended policy, within the budget."""
    gain_of_nothing: float | None = None
    """The gain if nothing were bought."""
    gain_of_everything: float | None = None
    """The gain if everything were bought, or as much as allowed."""
    still_to_learn: EstimateAnswer | None = None
    """What perfect knowledge of the population would add a case, without the budget; null if it
    cannot be said.
    """
    stake: float = 1.0
    cost_of_everything: float | None = None
    """What all observations cost together, with fees; null if a case may not buy all of them."""


class TokenAnswer(msgspec.Struct):
    """The rights of the token of the request."""

    scope: str
    project: str | None
    """Null: all of them."""


class Flaw(msgspec.Struct):
    """An error in the body, with its place."""

    pointer: str
    detail: str


class ProblemDetails(msgspec.Struct, omit_defaults=True):
    """An error in the format of RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[Flaw] = []


class Projects(msgspec.Struct):
    """All projects, by their names."""

    projects: list[ProjectAnswer]


class BatchAnswer(msgspec.Struct, omit_defaults=True):
    """The answer to one request of a batch."""

    status: int
    answer: CaseAnswer | None = None
    problem: ProblemDetails | None = None


prepare(*(kind for kind in list(globals().values()) if isinstance(kind, msgspec.StructMeta)))
