"""How long the sentences of the pages are: `python tools/readability.py [PAGE …]`.

For each page the number of sentences, the mean number of words in one, and the share of those with
more than 30 words. Code, tables and headings are left out; an item of a list is a paragraph of its
own, and a name in backticks is one word.
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
LONG = 30

_LEFT_OUT = re.compile(r"^```.*?^```[ \t]*$|<!--.*?-->", re.MULTILINE | re.DOTALL)
_SKIPPED = ("#", "|", "!", "<")
_ITEM = re.compile(r"(?:[-*>]|\d+\.)\s+")
_CODE = re.compile(r"`[^`]*`")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_END = re.compile(r"(?<=[.!?])[\"')*_]*\s+(?=[\"'(*_]*(?:[A-Z0-9]|askwise|pyAgrum))")
_ABBREVIATION = re.compile(r"\b(e\.g|i\.e|etc|vs|al)\.")
_WORD = re.compile(r"[^\W_][\w’'.,%-]*")


class Sentences(NamedTuple):
    """The sentences of a text, counted."""

    count: int
    mean: float
    """Words in a sentence."""
    long: float
    """The share of sentences with more than 30 words."""


def sentences_of(text: str) -> list[str]:
    r"""The sentences of a page, without code, tables and headings.

    >>> sentences_of("# Title\n\nOne `a b` here. Two\nmore.\n- An item\n\n| a | b |")
    ['One Code here.', 'Two more.', 'An item']
    """
    paragraphs: list[list[str]] = [[]]
    for line in _LEFT_OUT.sub("\n", text).splitlines():
        bare = line.strip()
        item = _ITEM.match(bare)
        if not bare or bare.startswith(_SKIPPED) or item:
            paragraphs.append([])
        if bare and not bare.startswith(_SKIPPED):
            paragraphs[-1].append(bare[item.end() :] if item else bare)
    found = []
    for lines in paragraphs:
        plain = _LINK.sub(r"\1", _CODE.sub("Code", " ".join(lines)))
        found += [part for part in _END.split(_ABBREVIATION.sub(r"\1", plain)) if part.strip()]
    return found


def measured(text: str) -> Sentences:
    """The lengths of the sentences of a page.

    >>> measured("One two three. " + "Word " * 31 + ".")
    Sentences(count=2, mean=17.0, long=0.5)
    """
    lengths = [len(_WORD.findall(sentence)) for sentence in sentences_of(text)]
    lengths = [length for length in lengths if length]
    if not lengths:
        return Sentences(0, 0.0, 0.0)
    long = sum(length > LONG for length in lengths)
    return Sentences(len(lengths), sum(lengths) / len(lengths), long / len(lengths))


def main() -> None:
    """Print a line for each page, as a Markdown table."""
    pages = [Path(name) for name in sys.argv[1:]]
    pages = pages or sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
    print("| page | sentences | words a sentence | over 30 words |")
    print("| --- | ---: | ---: | ---: |")
    for page in pages:
        count, mean, long = measured(page.read_text(encoding="utf-8"))
        print(f"| {page.name} | {count} | {mean:.1f} | {long:.0%} |")


if __name__ == "__main__":
    main()
