"""docs/paper.md has a row for all there is in the paper, and what the rows name exists."""

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

EQUATIONS = 19
"""That stand on lines of their own."""
NUMBERED = ("(1)", "(2)", "(3)", "(4)", "(5)")
THEOREMS, FIGURES = 2, 1
ALGORITHMS = 2
"""Algorithm 1, and Seq-OOS, which is told in words."""
CITED = [
    "auer2002a",
    "boyd2004convex",
    "campbel1980information",
    "cesa2011efficient",
    "chemmanur1993pricing",
    "chu2011contextual",
    "dudik2011efficient",
    "golovin2010adaptive",
    "hazan2012linear",
    "jaksch2010near",
    "langford2007epoch",
    "lu2010contextual",
    "ortner2007logarithmic",
    "osband2014generalization",
    "saslow2007american",
    "slivkins2011contextual",
    "tekin2014discovering",
    "zolghadr2013online",
]


def numbers(letter):
    return [row[0] for row in ROWS if re.fullmatch(rf"{letter}\d+", row[0])]


@pytest.mark.parametrize(
    ("letter", "number"), [("E", EQUATIONS), ("T", THEOREMS), ("F", FIGURES), ("A", ALGORITHMS)]
)
def test_everything_has_one_row_in_order(letter, number):
    assert numbers(letter) == [f"{letter}{k}" for k in range(1, number + 1)]


def test_definitions_and_claims_are_counted_through():
    for letter in "DC":
        assert numbers(letter) == [f"{letter}{k}" for k in range(1, len(numbers(letter)) + 1)]


def test_the_paper_s_own_numbers_are_said():
    said = [row[1][:3] for row in ROWS if row[0][0] == "E" and row[1].startswith("(")]
    assert tuple(said) == NUMBERED


def test_every_work_that_is_cited_has_one_row():
    keys = [row[0] for row in ROWS if not re.fullmatch(r"[A-Z]\d+", row[0])]
    assert keys == CITED


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


@pytest.mark.skipif("ASKWISE_PAPER" not in os.environ, reason="ASKWISE_PAPER names no paper.tex")
def test_the_counts_are_the_paper_s():
    """`ASKWISE_PAPER=paper.tex pytest tests/test_paper.py` counts again in the paper's source."""
    text = Path(os.environ["ASKWISE_PAPER"]).read_text(encoding="utf-8")
    body = text[: text.index(r"\begin{thebibliography}")]
    displays = re.findall(
        r"\\begin\{(equation|align|eqnarray\*?)\}.*?\\end\{\1\}|\\\[.*?\\\]|\$\$.*?\$\$",
        body,
        re.DOTALL,
    )
    assert len(displays) == EQUATIONS
    begun = Counter(re.findall(r"\\begin\{(theorem|algorithm|figure)\}", body))
    assert begun == {"theorem": THEOREMS, "algorithm": ALGORITHMS - 1, "figure": FIGURES}
    assert re.findall(r"\\bibitem\[.*?\]\{(\w+)\}", text, re.DOTALL) == CITED
    cited = [
        key.strip() for keys in re.findall(r"\\citet?\{(.*?)\}", body) for key in keys.split(",")
    ]
    assert set(cited) == set(CITED)


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
