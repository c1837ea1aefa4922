"""What is sent and what is answered, as types: the one place that says what a body may hold.

Numbers are finite, booleans are not numbers but may stand for values, unknown fields are refused;
the OpenAPI document is made from these types.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from askwise._support.documents import prepare
from askwise.problem import Problem
from askwise.problem.amounts import LARGEST_AMOUNT
from askwise.service.api.served_learners import served

Name = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z",  # $ would stand before a last newline too
        description="1 to 64 letters, digits, dots, dashes, underscores; a letter or digit first.",
    ),
]
Key = Annotated[
    str, Meta(pattern=r"^[!-~]{1,200}\Z", description="1 to 200 printable characters of ASCII.")
]
Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
CaseNumber = Annotated[int, Meta(ge=1, le=2**53)]
Text = Annotated[str, Meta(max_length=200)]
"""As long as a declared value may be: what is counted as another one is kept, too."""

Seen = Text | Whole | float | bool | None
"""A value, a boolean that stands for one, a number or a date for its bin, or null for a look that
failed."""


class Body(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What is sent: no other fields than these."""


class ChosenLearner(Body, omit_defaults=False):
    """A learner of the registry, by its name, and its options."""

    name: Annotated[str, Meta(examples=served())] = "learner"
    options: dict[str, Any] = {}


class NewProject(Body):
    """A problem, and who learns it; or a saved learner, to begin with what it knows."""

    name: Name
    problem: Problem | None = None
    learner: ChosenLearner = msgspec.field(default_factory=ChosenLearner)
    saved: bytes | None = None
    """A learner as the library saves it, in Base64, in place of problem and learner."""


class Opening(Body):
    """A new case: what is given and on file, its own prices, how many times its reward counts."""

    known: dict[str, Seen] | None = None
    prices: dict[str, float] | None = None
    stake: Annotated[float, Meta(gt=0.0, le=1e9)] = 1.0


class Observing(Body):
    """What was bought showed these values; `paid` is what it cost, if that was not known.

    With `unasked` people looked at some of it without being asked; they knew more of the case than
    it did, unless `knew_more` is false.
    """

    values: dict[str, Seen]
    paid: dict[str, float] | None = None
    unasked: bool = False
    knew_more: bool = True


class Acting(Body):
    """What people did, whatever was advised; they knew more of the case, unless that is denied."""

    action: Text
    knew_more: bool = True


class Rewarding(Body):
    """How well it went; by default, because nothing came; or a correction.

    From 0 to 1, or in the currency if the problem has `rewards`, within these.
    """

    reward: Annotated[float, Meta(ge=-LARGEST_AMOUNT, le=LARGEST_AMOUNT)]
    default: bool = False
    replaces: bool = False


class Cancelling(Body):
    """The case is abandoned."""


class BlockEnd(Body, omit_defaults=False):
    """A block of cases is over: what the project remembers from now on. The replanner writes it."""

    block: Annotated[int, Meta(ge=1)]
    """How many blocks are over."""
    first: Annotated[int, Meta(ge=0)]
    """The oldest block that is remembered."""
    drift: bool = False
    """Whether all before it is forgotten because it contradicts what came since."""


class BatchItem(Body):
    """One request of a batch, with its own key.

    Just one of open, observations, acted, reward, cancel.
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
    """With the action: how likely each look was, and then the action, given what was seen."""


class CaseStory(msgspec.Struct):
    """A case as it stands, and how it came there."""

    case: int
    status: str
    wanted: tuple[str, ...]
    action: str | None
    cost: float
    policy_version: int
    known: dict[str, str | int | None]
    path: tuple[str, ...]
    """What was bought, in order."""
    reward: float | None
    by_default: bool
    opened: str
    stake: float = 1.0
    overruled: bool = False
    """Whether people did the action in place of what was advised, or before anything was."""


class ProjectAnswer(msgspec.Struct):
    """A project as it stands."""

    name: str
    problem: Problem
    learner: ChosenLearner
    created: str
    policy_version: int
    cases: int
    events: int
    planned_events: int
    """How many events the current policy was planned with."""
    planned: str
    plan_failure: str | None
    archived: str | None = None
    """Since when it takes no requests; null if it does."""
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
    """What happened on one day, UTC."""

    day: str
    opened: int
    acted: int
    rewarded: int
    cancelled: int
    reward: float
    spend: float
    gain: float


class BlockSummary(msgspec.Struct):
    """What the cases with these numbers earned and spent, whenever that was."""

    first: int
    last: int
    acted: int
    rewarded: int
    awaited: int
    """Those that acted and have no reward yet."""
    reward: float
    spend: float


class EstimateAnswer(msgspec.Struct):
    """A number that is not known for certain, and its interval of 95 %."""

    value: float
    low: float
    high: float


class OverruledAnswer(msgspec.Struct):
    """What people did in place of what was advised: how often, and how well it went."""

    action: str
    cases: int
    rewarded: int
    """How many of those have their reward."""
    reward: float | None
    """The mean of these, per unit of stake; null if there is none."""


class Summary(msgspec.Struct):
    """What a project has earned and spent. A reward counts as many times as its case's stake."""

    cases: int
    statuses: dict[str, int]
    reward: float
    spend: float
    gain: float
    """What the rewards are worth, less what was spent."""
    bought: dict[str, int]
    days: list[DaySummary]
    blocks: list[BlockSummary]
    """Narrow ones first, and wider as there are more cases."""
    overruled: list[OverruledAnswer]
    unasked: dict[str, int]
    """How often people looked at what, without being asked."""
    still_to_learn: EstimateAnswer | None = None
    """What perfect knowledge of the population would add a case, by the newest policy version for
    which that was worked out; null before the first, and where it cannot be said."""


class TreeAnswer(msgspec.Struct):
    """A policy as a tree; by the best estimate of today, each node says why."""

    value: float | None
    """What a case is expected to gain by it: the gain at the root of the tree; null if unknown."""
    text: str
    tree: dict[str, Any]


class PolicyAnswer(msgspec.Struct):
    """What cases follow, and what has been learned."""

    policy_version: int
    follows: TreeAnswer
    recommends: TreeAnswer


class Demand(msgspec.Struct):
    """From this price up to the next, the best policy buys in this share of the cases."""

    price: float
    share: float


class DemandBand(msgspec.Struct):
    """At a price, between which two shares of the cases the best policy buys (95 %)."""

    price: float
    low: float
    high: float


class ObservationAnswer(msgspec.Struct):
    """What one observation is worth; null where it is not believed to matter."""

    name: str
    cost: float
    bought: int = 0
    """How often, so far."""
    share: float | None = None
    """Of the cases in which the best policy buys it."""
    adds: float | None = None
    adds_low: float | None = None
    adds_high: float | None = None
    """The interval of what it adds, 95 %."""
    adds_if_free: float | None = None
    break_even: float | None = None
    """The highest price at which the best policy still buys it; null also if that is any."""
    break_even_low: float | None = None
    break_even_high: float | None = None
    """The interval of that, 95 %; null where it has no end."""
    verdict: str | None = None
    """Whether it pays by all of that interval: "pays", "does not pay", "not known yet"."""
    cases_to_settle: float | None = None
    """About how many more cases will settle that; null if it cannot be foreseen."""
    fees: float = 0.0
    """What is paid on top for its panels, on average where it is bought; in no price above."""
    demand: list[Demand] = []
    demand_band: list[DemandBand] = []


class WorthAnswer(msgspec.Struct):
    """What each observation is worth, and what a case gains, by the best estimate of today."""

    policy_version: int
    observations: list[ObservationAnswer]
    gain: float | None = None
    """By the best policy."""
    gain_of_nothing: float | None = None
    """If nothing were bought."""
    gain_of_everything: float | None = None
    """If everything were bought, or as much as may be."""
    still_to_learn: EstimateAnswer | None = None
    """What perfect knowledge of the population would add a case; null if it cannot be said."""


class Alarm(msgspec.Struct):
    """What an operator should look at."""

    name: str
    detail: str


class Alarms(msgspec.Struct):
    """The alarms of a project; none, if all is well."""

    alarms: list[Alarm]


class TokenAnswer(msgspec.Struct):
    """What the token of the request may do."""

    scope: str
    project: str | None
    """Null: all of them."""


class Flaw(msgspec.Struct):
    """Where in the body, and what."""

    pointer: str
    detail: str


class ProblemDetails(msgspec.Struct, omit_defaults=True):
    """An error, as RFC 9457 has it."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[Flaw] = []


class Projects(msgspec.Struct):
    """All projects, by their names."""

    projects: list[ProjectAnswer]


class Cases(msgspec.Struct):
    """Some cases, in the order that was asked for."""

    cases: list[CaseStory]


class BatchAnswer(msgspec.Struct, omit_defaults=True):
    """What one request of a batch was answered."""

    status: int
    answer: CaseAnswer | None = None
    problem: ProblemDetails | None = None


prepare(*(kind for kind in list(globals().values()) if isinstance(kind, msgspec.StructMeta)))
