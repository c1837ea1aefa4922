"""For the site: in docstrings, examples become blocks of code and options become a list."""

import re
from typing import Any

import griffe

OPTION = re.compile(r"([a-z_]+(?:, [a-z_]+)*): (?=\S)")


def as_markdown(text: str) -> str:
    """The docstring with a fence around every example, and each option as an item of a list."""
    lines: list[str] = []
    inside, listing = False, False
    for line in text.splitlines():
        option = OPTION.match(line)
        if inside and not line.strip():
            lines.append("```")
            inside = False
        elif not inside and line.startswith(">>> "):
            lines.append("```pycon")
            inside = True
        elif not inside and option:
            lines += [] if listing else [""]
            listing = True
        listing = listing and bool(line.strip())
        item = option is not None and listing and not inside
        lines.append(OPTION.sub(r"- `\1`: ", line, count=1) if item else line)
    return "\n".join([*lines, "```"] if inside else lines)


class ReadableDocstrings(griffe.Extension):
    """Applied to every docstring."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """An object was read."""
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)
