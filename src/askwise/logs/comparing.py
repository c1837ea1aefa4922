"""Compares the gains of two policies, on a log or in a live split of the cases.

Each row of a log, with its propensities, is evidence about either policy (`off_policy.py`). A live
split is such a log (`trial.py`). The difference and its intervals are in `comparison.py`.
"""

from __future__ import annotations

from typing import Any, overload

from askwise._support.typing import RandomSource
from askwise.errors import OptionError
from askwise.estimation.models import Model
from askwise.logs.comparison import Comparison, compared, normal_reach, with_warnings
from askwise.logs.off_policy import check_confidence
from askwise.logs.policy_rows import rows_of_policies
from askwise.logs.trial import Trial
from askwise.policy import Policy


@overload
def compare(
    a: Policy,
    b: Policy,
    *,
    log: None = None,
    share: float = ...,
    confidence: float = ...,
    names: tuple[str, str] = ...,
    rng: RandomSource = ...,
) -> Trial: ...


@overload
def compare(
    a: Policy,
    b: Policy,
    *,
    log: Any,
    action: str | None = ...,
    reward: str | None = ...,
    propensity: str | None = ...,
    order: str | None = ...,
    acquisition: str | None = ...,
    stake: str | None = ...,
    model: Model | None = ...,
    confidence: float = ...,
    names: tuple[str, str] = ...,
    rng: RandomSource = ...,
) -> Comparison: ...


def compare(
    a: Policy,
    b: Policy,
    *,
    log: Any = None,
    action: str | None = None,
    reward: str | None = None,
    propensity: str | None = None,
    order: str | None = None,
    acquisition: str | None = None,
    stake: str | None = None,
    model: Model | None = None,
    share: float | None = None,
    confidence: float = 0.95,
    names: tuple[str, str] = ("a", "b"),
    rng: RandomSource = None,
) -> Comparison | Trial:
    """Compares the gains of two policies, and says whether the difference is settled.

    With a `log`, whose columns are those of `off_policy`, the result is a `Comparison`, and `model`
    is the model of the doubly robust estimate. Without a log the result is a `Trial`, a live split:
    `trial.open()` opens cases of which a `share`, by default a half, follows b, and
    `trial.result()` compares their gains so far. `names` are the names of a and b in print.

    Neither policy may be fitted to the log: on its own rows it gains too much. A log that does not
    support a policy settles nothing. The result then has `warnings`.

    Policies come from `learner.recommend()`, `oracle`, or `Policy.from_rule` for today's rule.

    >>> from askwise import Model, Observation, Policy, Problem, oracle
    >>> mri = Observation("mri", values=["neg", "pos"], cost=0.1)
    >>> problem = Problem(observations=[mri], actions=["wait", "treat"])
    >>> model = Model(problem, [0.75, 0.25], [[1, 0], [0, 1]])
    >>> today = Policy.from_rule(problem, lambda known: "wait")
    >>> trial = compare(oracle.sequential(model), today, rng=0)
    >>> import numpy as np
    >>> draws = np.random.default_rng(0)
    >>> for sick in draws.random(2_000) < 0.25:
    ...     case = trial.open()
    ...     if case.wanted:
    ...         case.observe({"mri": "pos" if sick else "neg"})
    ...     case.reward(float((case.action == "treat") == sick))
    >>> print(trial.result())
    a gains 0.8999903 (0.8999695 to 0.9000111)
    b gains 0.7519 (0.7095 to 0.7944)
    a gains 0.1480 (0.1056 to 0.1905) more than b: settled, by 2,000 rows
    """
    check_confidence(confidence)
    names = _check_names(names)
    _check_policies(a, b)
    columns = {"action": action, "reward": reward, "propensity": propensity, "order": order}
    columns["stake"] = stake
    if log is None:
        _check_no_log({**columns, "acquisition": acquisition, "model": model})
        return Trial(a, b, 0.5 if share is None else share, confidence, rng, names)
    if share is not None:
        raise OptionError("share= is of a live split: leave it out, or leave log= out")
    seed = 0 if rng is None else rng
    of_a, of_b = rows_of_policies([a, b], log, columns, acquisition, model, seed)
    return with_warnings(compared(of_a, of_b, normal_reach(confidence), names))


def _check_policies(a: Policy, b: Policy) -> None:
    for policy in (a, b):
        if not isinstance(policy, Policy):
            raise OptionError(f"expected a policy, such as learner.recommend(), got {policy!r}")
    if a.lattice != b.lattice:
        raise OptionError("the policies are of two different problems: compare two of one problem")


def _check_no_log(of_logs: dict[str, Any]) -> None:
    for name, value in of_logs.items():
        if value is not None:
            raise OptionError(
                f"{name}= is about a log: give log=, or leave {name}= out for a live split"
            )


def _check_names(names: object) -> tuple[str, str]:
    match names:
        case [str(first), str(second)] if first and second and first != second:
            return first, second
    raise OptionError(f'names must be two different names, such as ("new", "today"), got {names!r}')
