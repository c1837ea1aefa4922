"""What keeps the code readable, counted: files, functions, faces, layers, docstrings."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

import askwise as aw
from askwise.learners import LEARNERS
from seeded_runs import OPTIONS, plain_problem, tiny_problem

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src" / "askwise").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
MOST_LINES, MOST_IN_A_FUNCTION, MOST_NAMES, MOST_LAYERS = 400, 60, 14, 12


def definitions(path, *kinds):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


def test_no_file_is_too_long():
    files = [path.relative_to(ROOT) for path in (*SOURCES, *TESTS)]
    lines = {str(path): (ROOT / path).read_text(encoding="utf-8").count("\n") for path in files}
    assert {name: n for name, n in lines.items() if n > MOST_LINES} == {}


def test_tests_stand_where_what_they_test_stands():
    """A folder of tests has the name of a package, but for those that test the whole."""
    folders = {p.parent.relative_to(ROOT / "tests") for p in TESTS if p.name.startswith("test_")}
    packages = {p.parent.relative_to(ROOT / "src" / "askwise") for p in SOURCES}
    assert folders - packages == {Path("edge")}


def test_no_function_is_too_long_outside_the_kernels():
    long = [
        (path.name, node.name)
        for path in SOURCES
        if "_kernels" not in path.parts
        for node in definitions(path, ast.FunctionDef, ast.AsyncFunctionDef)
        if node.end_lineno - node.lineno + 1 > MOST_IN_A_FUNCTION
    ]
    assert long == []


def test_every_docstring_says_something():
    """An equation may be short; a sentence of three words is none."""
    short = [
        (path.name, node.name, text)
        for path in SOURCES
        for node in definitions(path, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        if (text := ast.get_docstring(node)) and len(text.split()) <= 3 and text.isascii()
    ]
    assert short == []


def test_the_face_is_small():
    assert len(aw.__all__) <= 28
    assert all(hasattr(aw, name) for name in aw.__all__)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_shows_few_names(name):
    problem = tiny_problem() if name == "policy-ucb" else plain_problem()
    learner = LEARNERS[name](problem, **OPTIONS.get(name, {}))
    assert len([name for name in dir(learner) if not name.startswith("_")]) <= MOST_NAMES


def test_import_layers_are_few():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    assert len(contract["layers"]) <= MOST_LAYERS


def test_every_package_says_what_it_is_for():
    silent = [path for path in SOURCES if path.name == "__init__.py" and not _docstring(path)]
    assert silent == []


def _docstring(path):
    return re.match(r'r?"""', path.read_text(encoding="utf-8"))
