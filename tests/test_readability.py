"""The pages and the docstrings are readable, by the numbers of tools/readability.py."""

import doctest
import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MOST_WORDS, MOST_LONG = 15.0, 0.05


def _load():
    path = ROOT / "tools" / "readability.py"
    spec = importlib.util.spec_from_file_location("readability", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


readability = _load()
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
PACKAGES = sorted(path.parent for path in (ROOT / "src" / "askwise").glob("*/__init__.py"))


def is_readable(text):
    """Whether sentences are short on average, and few of them are long."""
    found = readability.measured(text)
    return found.mean <= MOST_WORDS and found.long <= MOST_LONG


@pytest.mark.parametrize("path", [*PAGES, *PACKAGES], ids=lambda path: path.name)
def test_a_text_is_readable(path):
    text = readability.text_of(path)
    assert is_readable(text), f"python tools/readability.py --list {path.relative_to(ROOT)}"


def test_a_text_can_be_unreadable():
    assert not is_readable("Word " * 16 + ".")
    assert not is_readable("One two. " * 10 + "word " * 31 + ".")
    assert is_readable("One two three.")


def test_the_tool_counts_as_it_says():
    assert doctest.testmod(readability).failed == 0
    assert doctest.testmod(readability).attempted > 0
