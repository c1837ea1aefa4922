"""Declares how much may be spent on observations on average."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from askwise.errors import OptionError
from askwise.problem.amounts import check_amount


class Budget(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    repr_omit_defaults=True,
):
    """The most to spend on observations, on average a case or for each day.

    spend_per_case: The average spend of a case, in the currency of the costs.
    spend_per_day, cases_per_day: The spend of a day, and the number of cases in a day. A day is
    that number of cases, whenever they come, so cases may be replayed or come in batches.

    The budget counts what cases pay for observations, including fees and without refunds. It does
    not count the costs of actions.

    >>> Budget(spend_per_day=400.0, cases_per_day=200).per_case
    2.0
    """

    spend_per_case: float | None = None
    spend_per_day: float | None = None
    cases_per_day: float | None = None

    def __post_init__(self) -> None:
        case, day, cases = self.spend_per_case, self.spend_per_day, self.cases_per_day
        if (case is None) == (day is None):
            raise OptionError("a Budget needs spend_per_case, or spend_per_day with cases_per_day")
        if (day is None) != (cases is None):
            raise OptionError("spend_per_day and cases_per_day go together: give both of them")
        for name in self.__struct_fields__:
            amount = getattr(self, name)
            if amount is not None:
                amount = check_amount(amount, f"a Budget's {name}", OptionError)
                if amount == 0.0:
                    raise OptionError(f"a Budget's {name} must be above 0, got {amount!r}")
                msgspec.structs.force_setattr(self, name, amount)

    @property
    def per_case(self) -> float:
        """The average spend of a case."""
        if self.spend_per_case is not None:
            return self.spend_per_case
        assert self.spend_per_day is not None
        assert self.cases_per_day is not None
        return self.spend_per_day / self.cases_per_day


def budget_of(option: object) -> Budget | None:
    """Returns the budget of an option, from a `Budget` or from {name: amount} in a file."""
    if option is None or isinstance(option, Budget):
        return option
    if isinstance(option, Mapping):
        try:
            return Budget(**option)
        except TypeError:
            known = ", ".join(Budget.__struct_fields__)
            raise OptionError(f"budget: expected some of {known}, got {dict(option)!r}") from None
    raise OptionError(
        "budget must be a Budget, such as Budget(spend_per_case=2.0), or its fields, such as "
        f'{{"spend_per_case": 2.0}}, got {option!r}'
    )
