"""The notebooks are run, and show what they have stored."""

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parent.parent / "examples").glob("*.ipynb"))
SHOWN = ("text/plain", "text/html")

# What comes with nbclient warns of what will change in its own dependencies.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")


def executed(path, folder):
    """The notebook after a run of all its cells, without what differs from run to run."""
    notebook = nbformat.read(path, as_version=4)
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if not is_passing(output)]
    return notebook


def is_passing(output):
    """That kernels are compiled, which is said only once, and a progress bar that has ended."""
    has_ended = output.output_type == "display_data" and not any(output.data.values())
    return has_ended or (output.output_type == "stream" and output.name == "stderr")


def outputs_of(notebook):
    """What the cells show, as text."""
    found = []
    for output in (o for cell in notebook.cells for o in cell.get("outputs", [])):
        found += [output["text"]] if "text" in output else []
        found += [output.data[kind] for kind in SHOWN if kind in output.get("data", {})]
    return found


def test_there_is_a_tour():
    assert [path.name for path in NOTEBOOKS] == ["tour.ipynb"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_shows_what_it_has_stored(path, tmp_path):
    stored = outputs_of(nbformat.read(path, as_version=4))
    assert stored
    assert outputs_of(executed(path, tmp_path)) == stored


def test_a_cell_that_fails_is_found(tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")])
    nbformat.write(notebook, tmp_path / "bad.ipynb")
    with pytest.raises(Exception, match="ZeroDivisionError"):
        executed(tmp_path / "bad.ipynb", tmp_path)
