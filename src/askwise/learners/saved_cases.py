"""The open cases of a learner or of a trial in its file."""

from __future__ import annotations

import msgspec

from askwise.counting import check_reward
from askwise.errors import FileError
from askwise.learners.case_owner import CaseOwner
from askwise.learners.case_snapshots import CaseSnapshot
from askwise.learners.cases import Case
from askwise.learners.people import NOTHING, PeopleDid, check_people
from askwise.policy import Policy
from askwise.policy.saving import at_prices, own_prices
from askwise.problem.amounts import check_stake
from askwise.states import Lattice


class SavedCase(msgspec.Struct, forbid_unknown_fields=True):
    """A case that waits for its reward, or has a default reward."""

    id: int
    path: list[tuple[int, int]]
    action: int
    tag: int
    policy: int | None
    """The index of the saved policy that it follows; none once it has acted."""
    start: int
    default: float | None
    """The default reward, if there is one."""
    block: int
    prices: dict[str, float]
    """The prices that differ from the problem's."""
    on_file: list[int]
    propensity: list[float] | None = None
    """The propensities of its steps once it has acted, if they are known."""
    stake: float = 1.0
    people: PeopleDid = NOTHING


def describe_case(case: Case, policies: list[Policy], usual: Lattice) -> SavedCase:
    """Describes an open case. The policy that it follows is added to the others."""
    place, policy = None, case.policy
    if policy is not None:
        policy = policy.exact()
        if not any(policy is p for p in policies):
            policies.append(policy)
        place = next(k for k, p in enumerate(policies) if policy is p)
    what = (case.id, case.path, case.action_index, case.tag, place, case.start, case.share)
    propensity = None if case.wanted or case.propensity is None else list(case.propensity)
    return SavedCase(
        *what, case.block, *own_prices(case.lattice, usual), propensity, case.stake, case.people
    )


def reopened(saved: SavedCase, owner: CaseOwner, lattice: Lattice, policies: list[Policy]) -> Case:
    """Returns the saved case, which continues. An invalid one raises a `FileError`."""
    if saved.default is not None:
        check_reward(saved.default)
    if not -1 <= saved.action < len(lattice.problem.actions):
        raise FileError(f"case {saved.id} has no action {saved.action}")
    if not _is_path(lattice, saved.start, saved.path):
        raise FileError(f"case {saved.id} took steps that lead elsewhere")
    if not all(0 <= probability <= 1 for probability in saved.propensity or ()):
        raise FileError(f"case {saved.id} has propensities that are not from 0 to 1")
    states = {saved.start, *(state for _, state in saved.path)}
    snapshot = CaseSnapshot(
        saved.id,
        saved.start,
        saved.path,
        saved.tag,
        action=saved.action,
        share=saved.default,
        is_by_default=saved.default is not None,
        block=saved.block,
        propensities=None if saved.propensity is None else tuple(saved.propensity),
        people=check_people(saved.people, lattice, states),
        stake=check_stake(saved.stake, lattice.problem.reward_value),
    )
    policy = None if saved.policy is None else policies[saved.policy]
    return Case.resumed(snapshot, owner, at_prices(lattice, saved.prices, saved.on_file), policy)


def _is_path(lattice: Lattice, start: int, path: list[tuple[int, int]]) -> bool:
    state = start
    for observation, after in path:
        if observation >= lattice.buyable or after not in lattice.children(state, observation):
            return False
        state = after
    return True
