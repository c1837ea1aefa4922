"""Rewrites messages of the library for the command line.

The library names its options as in Python: label= or acquisition='sequential'. On the command line
these are --label and --acquisition sequential. What a problem declares is a key of its file: other=
becomes other:.
"""

from __future__ import annotations

import re

OPTIONS = {
    name: f"--{name}"
    for name in (
        "label",
        "action",
        "reward",
        "order",
        "propensity",
        "acquisition",
        "stake",
        "confidence",
    )
} | {"rewards": "--reward", "rng": "--seed"}
"""Options of `fit`, `off_policy` and `draft` that are options of a command."""

OF_LEARNERS = ("model", "storage")
"""Options of learners that messages name. A command takes them as --option name=value."""

OF_PROBLEMS = ("fails", "other", "edges", "ordered", "given", "max_observations", "reward_value")
"""Keys of a problem file."""

COMMANDS = {
    r"\b(?:aw\.)?off_policy\b": "askwise evaluate",
    r"\bpolicy\.evaluate\(table\)": "askwise evaluate",
}
"""Functions that messages name, and the command that calls each."""

_VALUE = r"(?P<value>'[^']*'|\{action: column\}|\d+(?:\.\d+)?)?"
_NAMED = re.compile(
    rf"(?<![\w'\"-])(?P<name>{'|'.join([*OPTIONS, *OF_LEARNERS, *OF_PROBLEMS])})={_VALUE}"
)


def in_words_of_the_command_line(text: str) -> str:
    """The text, with options written as on the command line.

    >>> in_words_of_the_command_line("acquisition='sequential' needs order=, the column")
    '--acquisition sequential needs --order, the column'
    >>> in_words_of_the_command_line("declare other= if more may come")
    'declare other: if more may come'
    """
    text = text.replace("fails='charged' or 'refunded'", "fails: charged or refunded")
    for name, command in COMMANDS.items():
        text = re.sub(name, command, text)
    return _NAMED.sub(_written, text)


def _written(found: re.Match[str]) -> str:
    name, value = found["name"], (found["value"] or "").strip("'")
    value = "action=column" if value == "{action: column}" else value
    if name in OPTIONS:
        return f"{OPTIONS[name]} {value}".strip()
    if name in OF_LEARNERS:
        return f"--option {name}={value}"
    return f"{name}: {value}" if value else f"{name}:"
