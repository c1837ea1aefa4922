"""How kernels are compiled, whatever they compute."""

import ast
import importlib
from pathlib import Path

import askwise
from askwise._kernels.states import lattices

HERE = Path(askwise.__file__).parent
FOLDERS = (HERE, *(Path(__file__).parents[2] / name for name in ("tests", "benchmarks", "tools")))
SOURCES = [
    p for f in FOLDERS for p in sorted(f.rglob("*.py")) if HERE / "_kernels" not in p.parents
]


def only_for_kernels(function):
    return bool(getattr(function, "targetoptions", {}).get("no_cpython_wrapper"))


def taken_from_kernels(tree):
    """(module, name) of all that a file takes from the kernels."""
    modules = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("askwise._kernels"):
            for alias in node.names:
                if node.module == "askwise._kernels":
                    modules[alias.asname or alias.name] = f"askwise._kernels.{alias.name}"
                else:
                    yield node.module, alias.name
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name)) if name in modules:
                yield modules[name], node.attr


def test_python_calls_no_kernel_that_only_kernels_may_call():
    """Such a call would end the process."""
    assert only_for_kernels(lattices.child)
    wrong = []
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        if "_kernels" in text and path != Path(__file__):
            for module, name in taken_from_kernels(ast.parse(text)):
                if only_for_kernels(getattr(importlib.import_module(module), name, None)):
                    wrong.append((path.name, name))
    assert wrong == []
