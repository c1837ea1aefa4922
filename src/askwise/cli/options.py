"""Reads `--option name=value`: turns the text into the type that the learner's option takes."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any, Union, get_args, get_origin

from askwise.cli.app import name_value_pairs
from askwise.errors import OptionError
from askwise.learners import BaseLearner
from askwise.learners.registry import check_option
from askwise.problem import Budget
from askwise.problem.budget import budget_of

TRUE, FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
NOTHING = ("none", "null")


def options_of(kind: type[BaseLearner], given: list[str] | None) -> dict[str, Any]:
    """The options of a learner from the command line, each converted to its type."""
    parameters = list(inspect.signature(kind, eval_str=True).parameters.values())
    known = {p.name: p.annotation for p in parameters[1:] if p.name != "rng"}
    options = {}
    for name, text in name_value_pairs("--option", given):
        check_option(kind.name, name)
        options[name] = _read(name, text.strip(), known[name])
    return options


def _read(name: str, text: str, annotation: Any) -> Any:
    """The text, converted to the first of the types that it fits."""
    is_union = get_origin(annotation) in (Union, types.UnionType)
    taken = [kind for kind in _READERS if kind in _kinds(annotation, is_union=is_union)]
    for kind in taken:
        try:
            return _READERS[kind][1](text)
        except OptionError as error:
            raise OptionError(f"--option {name}={text}: {error}") from None
        except ValueError:
            continue
    expected = " or ".join(_READERS[kind][0] for kind in taken)
    raise OptionError(f"--option {name}={text}: {name} takes {expected}")


def _kinds(annotation: Any, *, is_union: bool) -> list[Any]:
    """The types that an option takes; an option without an annotation takes any."""
    if annotation in (inspect.Parameter.empty, Any):
        return list(_READERS)
    parts = get_args(annotation) if is_union else (annotation,)
    return [get_origin(part) or part for part in parts]


def _nothing(text: str) -> None:
    if text.lower() not in NOTHING:
        raise ValueError


def _truth(text: str) -> bool:
    if text.lower() not in TRUE + FALSE:
        raise ValueError
    return text.lower() in TRUE


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        number = float(text)  # large numbers may be written as 1e5
        if not number.is_integer():
            raise ValueError from None
        return int(number)


def _names(text: str) -> list[str]:
    if "," not in text:
        raise ValueError
    return [part.strip() for part in text.split(",") if part.strip()]


def _budget(text: str) -> Budget:
    """A budget: the spend of a case, or the parts of a `Budget` by name with commas between."""
    parts = [part.partition("=") for part in text.split(",")]
    if len(parts) == 1 and not parts[0][1]:
        return Budget(spend_per_case=float(text))
    found = budget_of({name.strip(): float(value) for name, _, value in parts})
    assert found is not None
    return found


def _text(text: str) -> str:
    return text


_READERS: dict[Any, tuple[str, Callable[[str], Any]]] = {
    types.NoneType: ("none", _nothing),
    bool: ("true or false", _truth),
    int: ("a whole number", _whole),
    Budget: ("the spend of a case, or spend_per_day=…,cases_per_day=…", _budget),
    float: ("a number", float),
    Sequence: ("names with commas between them", _names),
    str: ("a text", _text),
}
"""The name of each type and its reader, the strictest type first."""
