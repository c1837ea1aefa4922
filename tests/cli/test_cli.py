import json
import os
import shlex
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import askwise as aw
import cli_reference
from askwise.cli import app, main
from askwise.cli.options import options_of
from askwise.cli.tables import read_table
from askwise.errors import OptionError
from askwise.learners import LEARNERS
from askwise.simulation.environments import Population, Table, model_at_random

CLINIC = """\
observations:
  - {name: mri, values: [neg, pos], cost: 9}
  - {name: grade, values: [1, 2, 3], cost: 1}
actions: [wait, treat]
reward_value: 100
"""
ROWS = {
    "mri": ["neg", "neg", "pos", "neg", "pos"],
    "grade": [1, 3, 3, 1, 2],
    "well": [1.0, 0.5, 0.0, 1.0, 0.25],
    "treat": [0.0, 0.5, 1.0, 0.0, 0.75],
}


def csv_of(rows):
    lines = [",".join(rows)] + [",".join(map(str, row)) for row in zip(*rows.values(), strict=True)]
    return "\n".join(lines) + "\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a problem and a table, to work in."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clinic.yaml").write_text(CLINIC, encoding="utf-8")
    (tmp_path / "patients.csv").write_text(csv_of(ROWS), encoding="utf-8")
    return tmp_path


@pytest.fixture
def problem(folder):
    return aw.Problem.load(folder / "clinic.yaml")


def askwise(*arguments):
    """What a command that succeeds prints."""
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "80", "NO_COLOR": "1"})
    assert result.exit_code == 0, result.output
    assert "Traceback" not in result.output
    return result.stdout


def simulate(*arguments):
    return askwise("simulate", "--problem", "clinic.yaml", "--steps", "500", *arguments)


def module(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "askwise", *arguments],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


# --- what works ----------------------------------------------------------------------------------


def test_version():
    assert askwise("--version") == f"askwise {aw.__version__}\n"
    result = module("--version")
    assert (result.returncode, result.stdout) == (0, f"askwise {aw.__version__}\n")
    assert result.stderr == ""


def test_learners_are_listed():
    lines = askwise("learners").splitlines()
    assert [line.split()[0] for line in lines if line[0] != " "] == ["name", *LEARNERS]
    assert module("learners").stdout.split() == " ".join(lines).split()
    rows = "\n".join(lines).replace("\n ", " ").splitlines()
    assert all(row.rstrip().endswith(".") for row in rows[1:])  # whole sentences


def test_a_random_population_is_the_librarys(folder, problem):
    text = simulate("--model-seed", "3", "--seed", "4", "--save", "clinic.askwise")
    population = Population(model_at_random(np.random.default_rng(3), problem))
    learner = aw.Learner(problem, rng=4)
    run = aw.simulate(learner, population, steps=500, rng=4)
    rows = [line.split() for line in text.splitlines()]
    for title, column in (("gain", run.gain), ("reward", run.reward), ("spend", run.cost)):
        parts = (column[:50], column[-50:], column)
        assert ["mean", title, *(f"{part.mean():.3f}" for part in parts)] in rows
    for name, share in run.bought().items():
        (row,) = [row for row in rows if row[:2] == ["buys", name]]
        assert row[-1] == f"{share:.0%}"
    assert str(learner.recommend().tree()) in text
    assert text.endswith("saved as clinic.askwise\n")
    loaded = aw.load(folder / "clinic.askwise")
    assert type(loaded) is aw.Learner
    assert loaded.statistics == learner.statistics


def test_a_saved_learner_goes_on(folder, problem):
    simulate("--learner", "psrl", "--seed", "1", "--save", "clinic.askwise")
    population = Population(model_at_random(np.random.default_rng(0), problem))
    other = aw.baselines.PSRL(problem, rng=1)
    aw.simulate(other, population, steps=500, rng=1)
    runs = [
        aw.simulate(learner, population, steps=300, rng=2)
        for learner in (aw.load(folder / "clinic.askwise"), other)
    ]
    assert np.array_equal(runs[0].state, runs[1].state)
    assert np.array_equal(runs[0].action, runs[1].action)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])  # the second is what Excel writes
def test_a_table_is_the_librarys(folder, problem, encoding):
    (folder / "patients.csv").write_text(csv_of(ROWS), encoding=encoding)
    simulate("--table", "patients.csv", "--reward", "wait=well", "--save", "clinic.askwise")
    learner = aw.Learner(problem, rng=0)
    table = Table(problem, ROWS, rewards={"wait": "well", "treat": "treat"})
    aw.simulate(learner, table, steps=500, rng=0)
    assert aw.load(folder / "clinic.askwise").statistics == learner.statistics


@pytest.mark.parametrize(
    ("learner", "given", "expected"),
    [
        ("seq-oos", ["width=0.5", "confidence=theorem"], {"width": 0.5, "confidence": "theorem"}),
        ("sim-oos", ["width=2"], {"width": 2.0}),
        ("fixed-set", ["observations=grade,mri"], {"observations": ["mri", "grade"]}),
        ("lin-ucb", ["observations=mri,", "exploration=1e-1"], {"observations": ["mri"]}),
        ("psrl", ["acquisition=simultaneous"], {"acquisition": "simultaneous"}),
        ("learner", ["detect=true", "window=1e3"], {"detect": True, "window": 1000}),
        ("learner", ["detect=No", "explore_budget=null"], {"detect": False}),
        ("seq-oos", ["detect=TRUE", "window=none"], {"detect": True, "window": None}),
        ("ncc-ucrl2", ["window=5000"], {"window": 5000}),
    ],
)
def test_options_reach_the_learner(folder, learner, given, expected):
    options = [word for text in given for word in ("--option", text)]
    simulate("--learner", learner, *options, "--save", "clinic.askwise")
    loaded = aw.load(folder / "clinic.askwise")
    assert loaded.name == learner
    assert expected.items() <= loaded.options.items()


@pytest.mark.parametrize("name", LEARNERS)
def test_every_option_can_be_written_as_it_prints(name):
    kind = LEARNERS[name]
    problem = aw.Problem(
        observations=[aw.Observation("mri", values=["neg", "pos"], cost=1)],
        actions=["wait", "treat"],
    )
    given = kind(problem).options
    lists = {key: ",".join([*value, ""]) for key, value in given.items() if isinstance(value, list)}
    texts = [f"{key}={lists.get(key, value)}" for key, value in given.items() if value != []]
    read = options_of(kind, texts)
    assert read == {key: value for key, value in given.items() if value != []}
    assert {k: type(v) for k, v in read.items()} == {k: type(given[k]) for k in read}
    assert kind(problem, **read).options == given
    with pytest.raises(OptionError, match=f"learner {name!r} has no option 'other'"):
        options_of(kind, ["other=1"])


def test_one_observation_alone_is_an_option_too(folder):
    simulate("--learner", "fixed-set", "--option", "observations=mri", "--save", "clinic.askwise")
    assert aw.load(folder / "clinic.askwise").options["observations"] == ["mri"]


def test_reproduce_writes_its_files_and_goes_on_where_it_was(folder):
    arguments = ("reproduce", "--quick", "--steps", "50", "--output", "results/paper")
    text = askwise(*arguments)
    results = folder / "results" / "paper"
    names = {"index.html", "figure1.csv", "figure1.svg", "regret.csv", "run.json", "cells.jsonl"}
    assert names <= {path.name for path in results.iterdir()}
    run = json.loads((results / "run.json").read_text(encoding="utf-8"))
    assert (run["steps"], run["seeds"]) == (50, [0, 1, 2])
    cells = (results / "cells.jsonl").read_bytes()
    runs = (8 + 2) * 3 * 3  # eight learners, and the paper's two with the theorems' radii
    assert len(cells.splitlines()) == runs
    assert f"{runs * 50:,} decisions" in text
    assert "results/paper/index.html" in text
    figure = (results / "figure1.csv").read_bytes()
    (results / "cells.jsonl").write_bytes(cells[:-30])  # as if it had been cut off
    askwise(*arguments)
    assert (results / "figure1.csv").read_bytes() == figure
    again = (results / "cells.jsonl").read_bytes()
    assert again.splitlines()[:-1] == cells.splitlines()[:-1]  # not run again: the times are equal
    assert len(again.splitlines()) == runs


# --- what does not -------------------------------------------------------------------------------


def refused(capsys, monkeypatch, *arguments):
    """The one line on stderr that says why."""
    monkeypatch.setattr("sys.argv", ["askwise", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    out, err = capsys.readouterr()
    assert end.value.code == 1
    assert out == ""
    assert err.startswith("askwise: ")
    assert err.endswith("\n")
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--problem", "none.yaml"], ["none.yaml", "No such file"]),
        (["--problem", "patients.csv"], ["patients.csv", ".yaml, .yml or .json"]),
        (["--problem", "broken.yaml"], ["broken.yaml, line 3", "values"]),
        (["--learner", "oracle"], ["unknown learner 'oracle'", "seq-oos, psrl"]),
        (["--option", "witdh=1"], ["seq-oos", "witdh"]),
        (["--option", "width=wide"], ["--option width=wide: width takes a number"]),
        (["--option", "width="], ["--option width=: width takes a number"]),
        (["--option", "detect=maybe"], ["--option detect=maybe: detect takes true or false"]),
        (["--option", "window=1.5"], ["window=1.5: window takes none or a whole number"]),
        (["--option", "window=true"], ["window=true: window takes none or a whole number"]),
        (["--option", "window=3"], ["window must be a whole number of at least 8"]),
        (["--option", "width=-1"], ["width must be a finite number", "-1"]),
        (["--option", "width"], ["--option width", "name=value"]),
        (
            ["--learner", "fixed-set", "--option", "observations=mri,ct"],
            ["unknown observation 'ct'", "mri, grade"],
        ),
        (["--table", "none.csv"], ["none.csv", "No such file"]),
        (["--table", "patients.csv"], ["no column 'wait'"]),
        (["--table", "patients.csv", "--reward", "wait=sick"], ["no column 'sick'"]),
        (["--table", "patients.csv", "--reward", "wait"], ["--reward wait", "name=value"]),
        (
            ["--table", "patients.csv", "--reward", "wait=well", "--reward", "run=well"],
            ["unknown action 'run'"],
        ),
        (["--table", "odd.csv"], ["column 'grade', row 1", "'4'", "1, 2, 3"]),
        (
            ["--table", "ragged.csv"],
            ["ragged.csv, line 3", "3 cells, expected 4, one for each column"],
        ),
        (["--table", "empty.csv"], ["empty.csv is empty: expected a header"]),
        (["--table", "header.csv"], ["no rows"]),
        (["--table", "latin.csv"], ["latin.csv", "UTF-8"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) and "--" in value[0] else None,
)
def test_what_is_wrong_is_one_line(folder, capsys, monkeypatch, arguments, named):
    head = "mri,grade,wait,treat\n"
    for name, text in {
        "broken.yaml": CLINIC.replace("values: [1, 2, 3]", "values: 7"),
        "odd.csv": head + "neg,1,1,0\nneg,4,1,0\n",
        "ragged.csv": head + "neg,1,1,0\nneg,1,1\n",
        "empty.csv": "",
        "header.csv": head,
        "latin.csv": head + "nég,1,1,0\n",
    }.items():
        (folder / name).write_text(text, encoding="latin-1")
    if any("width" in word or "witdh" in word for word in arguments):
        arguments = ["--learner", "seq-oos", *arguments]
    if "--problem" not in arguments:
        arguments = ["--problem", "clinic.yaml", *arguments]
    message = refused(capsys, monkeypatch, "simulate", *arguments)
    for words in named:
        assert words in message


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--backend", "abacus"], "threads, processes, dask, ray, got 'abacus'"),
        (["--address", "tcp://here:1"], "'tcp://here:1' needs the backend dask or ray"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_reproduce_says_what_is_wrong(capsys, monkeypatch, arguments, named):
    assert named in refused(capsys, monkeypatch, "reproduce", *arguments)


@pytest.mark.usefixtures("folder")
def test_serving_without_its_extra_says_what_to_install(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert "pip install 'askwise[service]'" in refused(capsys, monkeypatch, "serve")


def test_a_whole_process_says_what_is_wrong_without_a_traceback(folder):
    result = module("simulate", "--problem", "none.yaml", cwd=folder)
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr == "askwise: none.yaml: No such file or directory\n"


def test_an_option_that_does_not_exist_is_explained(folder):
    for arguments, named in (
        (["--nothing"], "--nothing"),
        (["--problem", "clinic.yaml", "--steps", "0"], "--steps"),
    ):
        result = module("simulate", *arguments, cwd=folder)
        assert result.returncode == 2
        assert named in result.stderr
        assert "Traceback" not in result.stderr


# --- help, and what is installed ------------------------------------------------------------------


@pytest.mark.parametrize("words", cli_reference.commands(), ids=" ".join)
def test_every_help_has_examples_that_can_be_parsed(words):
    known = cli_reference.commands()
    command = known[words]
    if hasattr(command, "commands"):
        return  # a group: its commands have them
    heading, *examples = (command.epilog or "").split("\n\n")
    assert heading == "Examples:"
    assert examples
    for example in examples:
        name, *given = shlex.split(example)
        assert (name, *given[: len(words)]) == ("askwise", *words)
        command.make_context(" ".join(words), given[len(words) :])


@pytest.fixture(scope="module", name="reference")
def reference_fixture():
    """The help of every command."""
    return cli_reference.reference()


def test_a_flag_prints_as_a_flag(reference):
    assert "<bool>" not in reference
    assert "--quick" in cli_reference.printed("reproduce", "--help")


def test_completion_is_offered():
    env = os.environ | {"_ASKWISE_COMPLETE": "complete_bash", "COMP_WORDS": "askwise lea"}
    code = "from askwise.cli import app; app(prog_name='askwise')"
    result = subprocess.run(
        [sys.executable, "-c", code],
        env=env | {"COMP_CWORD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stdout.split() == ["learners"], result.stderr


# --- the page ------------------------------------------------------------------------------------


def test_the_reference_is_up_to_date(reference):
    _, marker, written = cli_reference.PAGE.read_text(encoding="utf-8").partition(
        cli_reference.MARKER
    )
    assert marker
    assert written == reference, cli_reference.HINT


def test_the_examples_print_what_the_page_says():
    page = cli_reference.PAGE.read_text(encoding="utf-8").partition(cli_reference.MARKER)[0]
    assert len(cli_reference.COMMAND.findall(page)) == page.count("```console") == 2
    assert cli_reference.examples(page) == page, cli_reference.HINT
    wrong = page.replace("mean gain  ", "mean loss  ")
    assert wrong != page
    timeless = [
        cli_reference.SECONDS.sub("", text) for text in (page, cli_reference.examples(wrong))
    ]
    assert timeless[0] == timeless[1]  # it does run them


def test_a_csv_of_numbers_empty_cells_and_unseen_categories(tmp_path):
    problem = aw.Problem(
        observations=[
            aw.Observation.binned("age", edges=[40], cost=0.1, fails="charged"),
            aw.Observation.binned("since", edges=["2020-01-01"], cost=0.1),
            aw.Observation("region", values=["north", "rest"], other="rest", cost=0.1),
        ],
        actions=["wait", "treat"],
    )
    path = tmp_path / "people.csv"
    rows = "39.5,20191231,north,1,0\n40,2020-01-01,west,0,1\n ,2021-05-01,rest,0,1\n"
    path.write_text("age,since,region,wait,treat\n" + rows, encoding="utf-8")
    table = read_table(problem, path, {})
    values = table.draw(np.random.default_rng(0), 50).values.tolist()
    assert {tuple(row) for row in values} == {(0, 0, 0), (1, 1, 1), (2, 1, 1)}
