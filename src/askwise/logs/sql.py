"""What the cells of a log mean, said in SQL: the twin of `askwise.logs.cells`.

Each expression gives a small number for a cell: the place of an outcome or an action, a reward from
0 to 1. A cell that cannot be is `WRONG`, or nothing, so that one pass over the log counts and
checks. Rewards are counted in units of 2⁻³⁰.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime

from askwise.learners.case_kinds import POWERS, UNITS
from askwise.logs.cells import ABSENT, is_whole, printed_values
from askwise.problem import Observation
from askwise.problem.amounts import LARGEST_AMOUNT, LEAST_REWARD_VALUE
from askwise.problem.bins import Edge
from askwise.problem.booleans import BOOLEANS, boolean_places
from askwise.problem.observation import UNAVAILABLE
from askwise.problem.rewards import ROUNDING, Range

WRONG = -2

_SIGNED = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
WHOLE = (*_SIGNED, *(f"U{name}" for name in _SIGNED))
_TIME_ZONE = r"\d\d:\d\d.*(Z|[+-]\d\d(:?\d\d)?)$"
"""The end of a timestamp that has a time zone."""


def quoted(name: str) -> str:
    """A column's name, quoted for SQL."""
    return '"' + name.replace('"', '""') + '"'


def text(value: object) -> str:
    """A text as a literal."""
    return "'" + str(value).replace("'", "''") + "'"


def digit(observation: Observation, kind: str, *, may_be_absent: bool) -> str:
    """The place of the outcome in a cell of a column of that type."""
    cell, printed = quoted(observation.name), printed_values(observation)
    if kind == "BOOLEAN":
        cell, kind = f"{cell}::VARCHAR", "VARCHAR"
    failed = str(len(observation.values)) if observation.fails else str(WRONG)
    nothing = str(ABSENT) if may_be_absent else failed
    cases = []
    if kind == "VARCHAR":
        cases += [f"WHEN {cell} = {text(value)} THEN {place}" for value, place in printed.items()]
        for place, value in enumerate(observation.values):
            if isinstance(value, int):  # 1.0, as files have whole numbers with gaps
                cases.append(f"WHEN TRY_CAST({cell} AS DOUBLE) = {value} THEN {place}")
        cases += _booleans(cell, observation.values)
        if may_be_absent or observation.fails:
            cases.append(f"WHEN {cell} = {text(UNAVAILABLE)} THEN {failed}")
        cases.append(f"WHEN coalesce(trim({cell}, {_BLANKS}), '') = '' THEN {nothing}")
    else:
        cases.append(f"WHEN {cell} IS NULL THEN {nothing}")
    if observation.edges is not None:
        cases += _bins(cell, kind, observation.edges, nothing)
    elif kind in WHOLE or is_fraction(kind):
        if is_fraction(kind):
            cases.append(f"WHEN isnan({cell}::DOUBLE) THEN {nothing}")
            cases.append(f"WHEN {cell} <> trunc({cell}) THEN {WRONG}")
        whole = f"TRY_CAST({cell} AS HUGEINT)::VARCHAR"
        cases += [f"WHEN {whole} = {text(value)} THEN {place}" for value, place in printed.items()]
    rest = WRONG
    if observation.other is not None and (kind == "VARCHAR" or kind in WHOLE or is_fraction(kind)):
        rest = list(observation.values).index(observation.other)
    return f"CASE {' '.join(cases)} ELSE {rest} END::SMALLINT"


def _booleans(cell: str, values: Sequence[object]) -> list[str]:
    """The value that stands for a boolean, in any case."""
    lower, places = f"lower(trim({cell}, {_BLANKS}))", boolean_places(values).items()
    return [f"WHEN {lower} = {text(truth)} THEN {place}" for truth, place in places]


_BLANKS = r"' ' || chr(9) || chr(10) || chr(13)"


def is_fraction(kind: str) -> bool:
    """Whether a column of that type holds numbers that need not be whole."""
    return kind in ("DOUBLE", "FLOAT") or kind.startswith("DECIMAL")


def _bins(cell: str, kind: str, edges: Sequence[Edge], nothing: str) -> list[str]:
    """The bin that a number or a date is in: the first whose upper edge is above it."""
    first, checks = edges[0], []
    if isinstance(first, datetime):
        value = _moment(cell, kind, zoned=first.tzinfo is not None)
    elif isinstance(first, date):
        value = _day(cell, kind)
    else:
        value = _number(cell, kind)
        checks = [f"WHEN isnan(({value})::DOUBLE) THEN {nothing}"]
    if value is None:
        return []  # the column holds something else
    below = [f"WHEN {value} < {_edge(edge)} THEN {k}" for k, edge in enumerate(edges)]
    return [*checks, *below, f"WHEN {value} >= {_edge(edges[-1])} THEN {len(edges)}"]


def _number(cell: str, kind: str) -> str | None:
    """The cell as a number; None if a column of that type has none."""
    if kind == "VARCHAR":
        return f"TRY_CAST({cell} AS DOUBLE)"
    if kind in WHOLE:
        return cell
    return f"{cell}::DOUBLE" if is_fraction(kind) else None


def _day(cell: str, kind: str) -> str | None:
    """The cell as a day; None if a column of that type has none."""
    if kind == "VARCHAR":  # the day that is written, whatever the time zone
        return (
            f"CASE WHEN TRY_CAST({cell} AS TIMESTAMP) IS NOT NULL "
            f"THEN TRY_CAST(left(trim({cell}), 10) AS DATE) END"
        )
    return f"CAST({cell} AS DATE)" if _is_date(kind) else None


def _moment(cell: str, kind: str, *, zoned: bool) -> str | None:
    """The cell as a moment, in a time zone or in none; None if a column of that type has none."""
    type_ = "TIMESTAMPTZ" if zoned else "TIMESTAMP"
    if kind == "VARCHAR":
        has_zone = f"regexp_matches({cell}, {text(_TIME_ZONE)})"
        wanted = has_zone if zoned else f"NOT {has_zone}"
        return f"CASE WHEN {wanted} THEN TRY_CAST({cell} AS {type_}) END"
    is_zoned = kind == "TIMESTAMP WITH TIME ZONE"
    return f"CAST({cell} AS {type_})" if _is_date(kind) and is_zoned == zoned else None


def _is_date(kind: str) -> bool:
    """Whether a column of that type holds days or moments."""
    return kind == "DATE" or kind.startswith("TIMESTAMP")


def _edge(edge: Edge) -> str:
    if isinstance(edge, datetime):
        kind = "TIMESTAMPTZ" if edge.tzinfo else "TIMESTAMP"
        return f"{kind} {text(edge.isoformat(' '))}"
    if isinstance(edge, date):
        return f"DATE {text(edge.isoformat())}"
    if isinstance(edge, int) and abs(edge) < 2**53:
        return str(edge)
    return f"{text(repr(float(edge)))}::DOUBLE"


def place_among(column: str, names: Sequence[str]) -> str:
    """The place of the action that a cell names."""
    cell = f"{quoted(column)}::VARCHAR"
    cases = [f"WHEN {cell} = {text(name)} THEN {place}" for place, name in enumerate(names)]
    cases += [
        f"WHEN TRY_CAST({cell} AS DOUBLE) = {name} THEN {place}"  # 1.0, as files have 1 with gaps
        for place, name in enumerate(names)
        if is_whole(name)
    ]
    cases += _booleans(cell, names)
    return f"CASE {' '.join(cases)} ELSE {WRONG} END::SMALLINT"


def share(column: str, within: Range | None) -> str:
    """The reward in a cell, from 0 to 1; nothing if it cannot be one."""
    cell = quoted(column)
    number = f"TRY_CAST({cell} AS DOUBLE)"
    if within is not None:
        low, high = map(_edge, within)
        number = _unrounded(number, within)
        is_money = f"typeof({cell}) <> 'BOOLEAN' AND {number} BETWEEN {low} AND {high}"
        return f"CASE WHEN {is_money} THEN ({number} - {low}) / {_edge(within[1] - within[0])} END"
    lower = f"lower(trim({cell}::VARCHAR, {_BLANKS}))"
    booleans = " ".join(f"WHEN {text(truth)} THEN {k}" for k, truth in enumerate(BOOLEANS))
    number = f"CASE {lower} {booleans} ELSE {_unrounded(number, (0.0, 1.0))} END"
    return f"CASE WHEN {number} BETWEEN 0 AND 1 THEN {number} END::DOUBLE"


def _unrounded(number: str, within: Range) -> str:
    """The nearest end of the range for a reward that is beyond it by rounding; else itself."""
    low, high = map(_edge, within)
    nearest, slack = f"least({high}, greatest({low}, {number}))", ROUNDING * (within[1] - within[0])
    is_rounded = f"abs({number} - {nearest}) <= {_edge(slack)}"
    return f"CASE WHEN {is_rounded} THEN {nearest} ELSE {number} END"


def stake(column: str, reward_value: float) -> str:
    """The stake in a cell; nothing if it cannot be one."""
    cell = quoted(column)
    number = f"TRY_CAST({cell} AS DOUBLE)"
    value, least, most = map(_edge, (reward_value, LEAST_REWARD_VALUE, LARGEST_AMOUNT))
    is_stake = f"typeof({cell}) <> 'BOOLEAN' AND {value} * {number} BETWEEN {least} AND {most}"
    return f"CASE WHEN {is_stake} THEN {number} END"


KIND_OF_STAKE = (
    f"CASE WHEN s = 1 THEN 0 ELSE 1 + least(greatest(floor(log2(s) / 2)::INTEGER + {POWERS}, 0), "
    f"{2 * POWERS}) END"
)
"""The kind of a case with a stake s, and the units of its log₂, as in `case_kinds.kinds_of`."""
UNITS_OF_STAKE = f"round(log2(s) * {UNITS})::BIGINT"


def label_shares(column: str, actions: Sequence[str]) -> dict[str, str]:
    """The reward of each action if a label names the right one."""
    place = place_among(column, actions)
    return {
        action: f"CASE {place} WHEN {k} THEN 1 WHEN {WRONG} THEN NULL ELSE 0 END::DOUBLE"
        for k, action in enumerate(actions)
    }


def units(name: str) -> str:
    """A reward in units, rounded as Python rounds: halves to the even one."""
    return f"round_even({name} * 1073741824, 0)::BIGINT"


def graded_units(name: str) -> str:
    """r(1 − r) of a reward in units, as `counting.units_of` has it."""
    return f"({units(name)} - {units(f'{name} * {name}')})"


def list_text(column: str, kind: str) -> str:
    """A list, or a text with commas, as one text."""
    cell = quoted(column)
    if kind.endswith("]"):
        return f"coalesce(array_to_string({cell}, ','), '')"
    return f"coalesce({cell}::VARCHAR, '')"


def selected(expressions: Mapping[str, str]) -> str:
    """The expressions with their names."""
    return ", ".join(f"{expression} AS {name}" for name, expression in expressions.items())


def is_propensity(column: str, kind: str) -> str:
    """Whether a cell holds a probability above 0, or several, or nothing."""
    numbers = f"TRY_CAST(string_split({list_text(column, kind)}, ',') AS DOUBLE[])"
    likely = f"coalesce(list_min({numbers}) > 0 AND list_max({numbers}) <= 1, false)"
    return f"({is_empty(column, kind)} OR {likely})"


def number_of_parts(column: str, kind: str) -> str:
    """The number of parts of the list in a cell."""
    parts = f"len(string_split({list_text(column, kind)}, ','))"
    return f"CASE WHEN {is_empty(column, kind)} THEN 0 ELSE {parts} END"


def is_empty(column: str, kind: str) -> str:
    """Whether a cell holds no list."""
    return f"(trim({list_text(column, kind)}) = '')"
