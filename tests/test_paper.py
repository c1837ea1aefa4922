"""docs/paper.md has a row for all there is in the paper, and what the rows name exists.

`paper_outline.json` has what the paper's source holds, section by section: its equations, labels,
theorems and citations, counted by `outline`, and by hand the notions that it defines and the claims
that it makes. The rows are checked against it. Where the source is at hand (`ASKWISE_PAPER`, or
paper.tex beside this project), the outline itself is counted again.
"""

import json
import os
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import askwise as aw
from askwise.states import Lattice
from askwise.testing import random_model
from inside import path_policy
from test_docs import ROOT, resolve

PAGE = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in PAGE.splitlines()
    if re.match(r"\| (?:[A-Z]\d+|[a-z]+\d{4}[a-z]+) \|", line)
]
OUTLINE = json.loads((ROOT / "tests" / "paper_outline.json").read_text(encoding="utf-8"))
SOURCE = Path(os.environ.get("ASKWISE_PAPER", ROOT.parent / "paper.tex"))

DISPLAY = r"\\begin\{(equation|align|eqnarray\*?)\}.*?\\end\{\1\}|\\\[.*?\\\]|\$\$.*?\$\$"
"""An equation on lines of its own."""


def is_numbered(display):
    """Whether the paper gives it a number: \\notag stands at the end of those that have none."""
    return bool(re.match(r"\\begin\{(equation|align|eqnarray)\}", display)) and not re.search(
        r"\\notag\s*\\end\{\w+\}$", display
    )


def outline(text):
    """What each section holds: counts of equations and of what it begins, labels, citations."""
    body = text[: text.index(r"\begin{thebibliography}")]
    parts = re.split(r"\\(?:sub)?section\{(.*?)\}", body)[1:]
    found = []
    for heading, part in zip(parts[::2], parts[1::2], strict=True):
        begun = Counter(re.findall(r"\\begin\{(theorem|algorithm|figure)\}", part))
        cites = re.findall(r"\\citet?\{(.*?)\}", part)
        displays = [found.group() for found in re.finditer(DISPLAY, part, re.DOTALL)]
        found.append(
            {
                "heading": heading,
                "equations": len(displays),
                "numbered": sum(map(is_numbered, displays)),
                "begun": dict(sorted(begun.items())),
                "labels": re.findall(r"\\label\{(.*?)\}", part),
                "cites": [key.strip() for keys in cites for key in keys.split(",")],
            }
        )
    return found


def bibliography(text):
    return re.findall(r"\\bibitem\[.*?\]\{(\w+)\}", text, re.DOTALL)


def total(what):
    return sum(section[what] for section in OUTLINE["sections"])


def begun(what):
    return sum(section["begun"].get(what, 0) for section in OUTLINE["sections"])


def numbers(letter):
    return [row[0] for row in ROWS if re.fullmatch(rf"{letter}\d+", row[0])]


def test_everything_has_one_row_in_order():
    counts = {
        "E": total("equations"),
        "T": begun("theorem"),
        "F": begun("figure"),
        "A": begun("algorithm") + 1,  # Seq-OOS is told in words
    }
    assert counts == {"E": 19, "T": 2, "F": 1, "A": 2}
    for letter, number in counts.items():
        assert numbers(letter) == [f"{letter}{k}" for k in range(1, number + 1)]


def test_definitions_and_claims_are_counted_through():
    for letter in "DC":
        assert numbers(letter) == [f"{letter}{k}" for k in range(1, len(numbers(letter)) + 1)]


def test_the_paper_s_own_numbers_are_said():
    said = [row[1][:3] for row in ROWS if row[0][0] == "E" and row[1].startswith("(")]
    assert said == [f"({k})" for k in range(1, total("numbered") + 1)]


def test_every_work_that_is_cited_has_one_row():
    keys = [row[0] for row in ROWS if not re.fullmatch(r"[A-Z]\d+", row[0])]
    assert keys == OUTLINE["bibliography"]
    cited = [key for section in OUTLINE["sections"] for key in section["cites"]]
    assert set(cited) == set(keys)


@pytest.mark.parametrize("section", OUTLINE["sections"], ids=lambda s: s["heading"])
def test_every_notion_and_claim_of_a_section_has_a_row(section):
    told = [row[1] for row in ROWS]
    for notion in section["notions"]:
        assert any(notion in text for text in told), f"no row tells of {notion}"


def test_every_row_says_where_and_how():
    for name, *cells in ROWS:
        assert len(cells) == 3, name
        assert all(cells), name


def test_what_the_page_names_exists():
    for dotted in re.findall(r"`(askwise(?:\.\w+)+)", PAGE):
        resolve(dotted)
    for file, test in re.findall(r"`((?:tests|benchmarks)/[\w/]+\.py)(?:::(\w+))?`", PAGE):
        source = (ROOT / file).read_text(encoding="utf-8")
        assert not test or f"def {test}(" in source, f"{file} has no {test}"


@pytest.mark.skipif(not SOURCE.exists(), reason="the paper's source is not at hand")
def test_the_outline_is_the_paper_s():
    text = SOURCE.read_text(encoding="utf-8")
    counted = [{k: v for k, v in s.items() if k != "notions"} for s in OUTLINE["sections"]]
    assert outline(text) == counted
    assert bibliography(text) == OUTLINE["bibliography"]


def test_the_probabilities_of_a_set_sum_to_1():
    for seed in range(5):
        model = random_model(np.random.default_rng(seed), [2, 3, 4], max_observations=2)
        lattice = Lattice(model.problem)
        probability, _ = model.marginals(lattice)
        for subset in range(lattice.subsets):
            states = lattice.states(subset)
            assert probability[states.start : states.stop].sum() == pytest.approx(1.0)


def test_the_example_of_a_sequential_policy():
    """Test 1 always; test 2 after +; a1 after (+, +), a2 after (+, −), a3 after −."""
    problem = aw.Problem(
        observations=[aw.Observation(n, values=["+", "-"], cost=0.1) for n in ("test1", "test2")],
        actions=["a1", "a2", "a3"],
    )
    lattice = Lattice(problem)
    look = np.full(lattice.size, -1, np.int16)
    action = np.zeros(lattice.size, np.int16)
    look[0] = 0
    look[lattice.index({"test1": "+"})] = 1
    action[lattice.index({"test1": "+", "test2": "-"})] = 1
    action[lattice.index({"test1": "-"})] = 2
    policy = path_policy(lattice, look, action, np.zeros(lattice.size))
    assert str(policy.tree()).splitlines() == [
        "buy test1 (0.1)",
        "├─ + → buy test2 (0.1)",
        "│  ├─ + → a1",
        "│  └─ - → a2",
        "└─ - → a3",
    ]
