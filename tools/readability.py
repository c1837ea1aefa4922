"""How plain the pages and the docstrings are: `python tools/readability.py [--list] [PATH …]`.

For each page and each package the table has the number of sentences, the mean number of words in a
sentence, the share of sentences with more than 30 words, and the number of odd words: metaphors,
pronouns that hide the subject, and ordinary words in place of the words of the field. `--list`
prints every long sentence and every sentence with an odd word instead.

In a page, code, tables, headings and directives are left out. An item of a list is a paragraph of
its own, and a name in backticks is one word. In a Python file, the docstrings of modules, classes,
functions and attributes are read, without examples and equations, and so are the comments.
"""

import argparse
import ast
import inspect
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "src" / "askwise"
LONG = 30

_LEFT_OUT = re.compile(
    r"^```.*?^```[ \t]*$|<!--.*?-->|^:::[^\n]*(?:\n {4,}[^\n]*)*", re.MULTILINE | re.DOTALL
)
_SKIPPED = ("#", "|", "!", "<")
_ITEM = re.compile(r"(?:[-*>]|\d+\.)\s+")
_CODE = re.compile(r"`[^`]*`")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_END = re.compile(r"(?<=[.!?])[\"')*_]*\s+(?=[\"'(*_]*(?:[A-Z0-9]|askwise|pyAgrum))")
_ABBREVIATION = re.compile(r"\b(e\.g|i\.e|etc|vs|al)\.")
_WORD = re.compile(r"[^\W_][\w’'.,%-]*")
_EXAMPLE = re.compile(r"^[ \t]*>>> .*?(?:\n[ \t]*\n|\Z)", re.MULTILINE | re.DOTALL)
_EQUATION = re.compile(r"^    .*$", re.MULTILINE)
_ODD = re.compile(
    r"\b(?:some|any|no)body\b|\bno one\b|\bwhoever\b|\breckon\w*|\bhurts?\b|\bluck\w*"
    r"|\bunluck\w*|(?<!fraud )\bdesks?\b|\btold\b|\bhouse\b|\bminds?\b"
    r"|\bsheets?\b|\bdaring\b|\brehears\w*|\bparcels?\b|\btends?\b|(?<!in the )\bfaces?\b"
    r"|\b(?:a|an|the|one|no|any|each|every|another|other|such|that|of|for|further|first|next|last"
    r"|free|paid|more|many|its|their|which|what|these|those|two|by|failed|single) looks?\b"
    r"|\blooks? (?:that|are|were|was|is|have|has|costs?|which|of|pays?|worth)\b|\blooks$",
    re.IGNORECASE,
)


class Sentences(NamedTuple):
    """The sentences of a text, counted."""

    count: int
    mean: float
    """Words in a sentence."""
    long: float
    """The share of sentences with more than 30 words."""
    odd: int
    """How many odd words there are."""


def sentences_of(text: str) -> list[str]:
    r"""Return the sentences of a page, without code, tables and headings.

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


def prose_of(source: str) -> str:
    r'''Return the docstrings and the comments of a Python file, a paragraph each.

    >>> prose_of('"""A module."""\nx = 1  # why\n"""Of x."""\n')
    'A module.\n\nOf x.\n\nwhy'
    '''
    found = [
        _EQUATION.sub("\n", _EXAMPLE.sub("\n", inspect.cleandoc(statement.value.value)))
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for statement in node.body
        if isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    ]
    return "\n\n".join([*found, *_comments(source)])


def _comments(source: str) -> Iterator[str]:
    """Yield the comments; comments on consecutive lines are one."""
    last, lines = -1, list[str]()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith(("# type:", "# noqa")):
            if lines and token.start[0] != last + 1:
                yield " ".join(lines)
                lines = []
            lines.append(token.string.lstrip("#: "))
            last = token.start[0]
    if lines:
        yield " ".join(lines)


def measured(text: str) -> Sentences:
    """Return the lengths of the sentences of a page.

    >>> measured("One two three. " + "Word " * 31 + ".")
    Sentences(count=2, mean=17.0, long=0.5, odd=0)
    >>> measured("Nobody pays for the look.").odd
    2
    """
    sentences = sentences_of(text)
    odd = sum(len(_ODD.findall(sentence)) for sentence in sentences)
    lengths = [words for sentence in sentences if (words := _words(sentence))]
    if not lengths:
        return Sentences(0, 0.0, 0.0, 0)
    long = sum(length > LONG for length in lengths)
    return Sentences(len(lengths), sum(lengths) / len(lengths), long / len(lengths), odd)


def _words(sentence: str) -> int:
    return len(_WORD.findall(sentence))


def text_of(path: Path) -> str:
    """Return the prose of a page, of a Python file, or of every Python file in a folder."""
    if path.is_dir():
        return "\n\n".join(text_of(file) for file in sorted(path.rglob("*.py")))
    text = path.read_text(encoding="utf-8")
    return prose_of(text) if path.suffix == ".py" else text


def main() -> None:
    """Print a line for each page and package, as a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="print the sentences to rewrite")
    parser.add_argument("paths", nargs="*", type=Path)
    given = parser.parse_args()
    packages = [path for path in SOURCES.iterdir() if (path / "__init__.py").exists()]
    pages = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/*.md"))]
    paths = given.paths or [*pages, *sorted(packages)]
    if given.list:
        for path in paths:
            for sentence in sentences_of(text_of(path)):
                if _words(sentence) > LONG or _ODD.search(sentence):
                    print(f"{path.name}: {sentence}")
        return
    print("| page or package | sentences | words a sentence | over 30 words | odd words |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for path in paths:
        count, mean, long, odd = measured(text_of(path))
        print(f"| {path.name} | {count} | {mean:.1f} | {long:.1%} | {odd} |")


if __name__ == "__main__":
    main()
