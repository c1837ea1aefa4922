"""What newcomers get wrong in a log is one error, which names the offender and the remedy."""

import pandas as pd
import pyarrow as pa
import pytest

import askwise as aw
from askwise.cli import main
from askwise.errors import AskwiseError, TableError
from askwise.logs import draft
from askwise.simulation.environments import Table

PROBLEM = aw.Problem(
    observations=[
        aw.Observation("mri", values=["neg", "pos"], cost=2),
        aw.Observation("grade", values=[1, 2], cost=1),
    ],
    actions=["wait", "treat"],
)
RECORDS = {"mri": ["neg", "pos"], "grade": [1, 2], "best": ["wait", "treat"]}


def csv_of(path, text):
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_two_columns_of_one_name_are_named(tmp_path):
    frame = pd.DataFrame(RECORDS)
    doubled = pd.concat([frame, frame[["mri"]]], axis=1)
    arrow = pa.Table.from_arrays([pa.array(["neg"])] * 2, names=["mri", "mri"])
    text = "mri,grade,mri,best\nneg,1,neg,wait\npos,2,pos,treat\n"
    for log in (doubled, arrow, csv_of(tmp_path / "log.csv", text)):
        for read in (lambda log: aw.fit(log, PROBLEM, label="best"), draft):
            with pytest.raises(TableError, match="two columns are called 'mri': rename one"):
                read(log)
    with pytest.raises(TableError, match="two columns are called 'mri': rename one"):
        Table(PROBLEM, doubled)
    nameless = csv_of(tmp_path / "log.csv", "mri,grade,,best\nneg,1,neg,wait\n")
    with pytest.raises(TableError, match=r"log\.csv: column 3 has no name: give it one"):
        aw.fit(nameless, PROBLEM, label="best")


@pytest.mark.parametrize("nothing", [float("nan"), None, ""])
def test_a_label_or_an_action_that_is_missing_is_named(nothing, tmp_path):
    labelled = {**RECORDS, "best": ["wait", nothing]}
    decided = {**RECORDS, "action": ["wait", nothing], "reward": [1, 0]}
    del decided["best"]
    expected = "row 1: the cell is empty, expected an action, one of: wait, treat; fill it in, or"
    for rows, options in ((labelled, {"label": "best"}), (decided, {})):
        pd.DataFrame(rows).to_csv(tmp_path / "log.csv", index=False)
        for log in (rows, pd.DataFrame(rows), tmp_path / "log.csv"):
            with pytest.raises(TableError, match=expected):
                aw.fit(log, PROBLEM, **options)


def test_an_undeclared_value_says_how_to_declare_it(tmp_path):
    rows = {**RECORDS, "mri": ["neg", "huh"]}
    pd.DataFrame(rows).to_csv(tmp_path / "log.csv", index=False)
    for log in (rows, tmp_path / "log.csv"):
        with pytest.raises(TableError, match=r"row 1: .*'huh'.*; declare other= if more may come"):
            aw.fit(log, PROBLEM, label="best")
    rows = {**RECORDS, "mri": ["neg", None]}
    pd.DataFrame(rows).to_csv(tmp_path / "log.csv", index=False)
    for log in (rows, tmp_path / "log.csv"):
        with pytest.raises(TableError, match=r"row 1: .*(None|is empty).*; declare fails= if"):
            aw.fit(log, PROBLEM, label="best")


@pytest.mark.parametrize(("separator", "words"), [(";", "semicolons"), ("\t", "tabs")])
def test_a_csv_with_other_separators_is_told_apart(separator, words, tmp_path):
    log = tmp_path / "log.csv"
    pd.DataFrame(RECORDS).to_csv(log, index=False, sep=separator)
    for read in (lambda: aw.fit(log, PROBLEM, label="best"), lambda: draft(log, label="best")):
        with pytest.raises(TableError, match=rf"log\.csv: .* by {words}, expected commas: save"):
            read()


ORDERED = {
    "mri": ["neg", "pos"],
    "grade": [None, 2],
    "order": ["mri", "mri,grade"],
    "action": ["wait", "treat"],
    "reward": [1, 0],
}
SEEN = {**RECORDS, "action": ["wait", "treat"], "reward": [1, 0]}


@pytest.mark.parametrize(
    ("rows", "propensity", "options", "message"),
    [
        (ORDERED, ["0.5,1", "0.5,0.5"], {}, "row 1: 2 propensities, expected 1, or 3"),
        (ORDERED, ["0.5,1", "0.5,1,1,1"], {}, "row 1: 4 propensities, expected 1, or 3"),
        (ORDERED, ["0.5,1", "0.5,0.5,1"], {}, None),
        (ORDERED, ["0.5", ""], {}, None),
        (SEEN, ["0.5", "0.5,0.5"], {}, "row 1: 2 propensities, expected 1: "),
        (SEEN, ["0.5,1", "1,1,1"], {"acquisition": "simultaneous"}, "row 1: 3 .* 1, or 2"),
        (SEEN, ["0.5,1", "0.5"], {"acquisition": "simultaneous"}, None),
    ],
)
def test_a_row_has_as_many_propensities_as_steps(rows, propensity, options, message, tmp_path):
    rows = {**rows, "propensity": propensity}
    pd.DataFrame(rows).to_csv(tmp_path / "log.csv", index=False)
    lists = [[float(x) for x in cell.split(",") if x] for cell in propensity]
    for log in (rows, {**rows, "propensity": lists}, tmp_path / "log.csv"):
        if message is None:
            assert aw.fit(log, PROBLEM, **options).rows == 2
            continue
        with pytest.raises(TableError, match=f"column 'propensity', {message}"):
            aw.fit(log, PROBLEM, **options)


# --- on the command line -------------------------------------------------------------------------

DECIDED = "mri,grade,action,reward\nneg,1,wait,1\npos,,wait,1\n"
SAID = [
    ("mri,grade\nneg,1\n", [], ["--reward action=column", "or --label", "(--action and --reward)"]),
    ("mri,grade\nneg,1\n", ["--guess-problem"], ["A draft needs --label,"]),
    (DECIDED, [], ["--acquisition simultaneous if", "--acquisition sequential with --order the"]),
    (DECIDED, ["--acquisition", "sequential"], ["--acquisition sequential needs --order,"]),
    ("mri,grade,best\nhuh,1,wait\n", ["--label", "best"], ["declare other: if more may come"]),
    ("mri,grade,best\n,1,wait\n", ["--label", "best"], ["declare fails: if it may be missing"]),
    (
        "mri,grade,best\nneg,1,wait\n",
        ["--label", "best", "--order", "x"],
        ["--order x is for logged decisions"],
    ),
]


@pytest.mark.parametrize(("text", "options", "named"), SAID)
def test_the_command_line_names_its_own_options(
    text, options, named, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    PROBLEM.save("clinic.yaml")
    log = csv_of(tmp_path / "log.csv", text)
    problem = [] if "--guess-problem" in options else ["--problem", "clinic.yaml"]
    monkeypatch.setattr("sys.argv", ["askwise", "fit", log, *problem, *options])
    with pytest.raises(SystemExit):
        main()
    message = capsys.readouterr().err
    for words in named:
        assert words in message
    assert "= " not in message


def test_notes_on_the_command_line_name_its_commands(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    PROBLEM.save("clinic.yaml")
    log = csv_of(tmp_path / "log.csv", "mri,grade,action,reward\nneg,1,wait,1\npos,2,wait,1\n")
    monkeypatch.setattr("sys.argv", ["askwise", "fit", log, "--problem", "clinic.yaml"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    printed = capsys.readouterr().out
    assert "so askwise evaluate cannot estimate" in printed
    assert "off_policy" not in printed


def test_a_table_of_the_command_line_is_read_as_strictly(tmp_path):
    from askwise.cli.tables import read_table

    for text, words in (
        ("mri,mri,wait,treat\nneg,neg,1,0\n", "two columns are called 'mri'"),
        ("mri;wait;treat\nneg;1;0\n", "semicolons"),
    ):
        path = tmp_path / "table.csv"
        csv_of(path, text)
        with pytest.raises(AskwiseError, match=words):
            read_table(PROBLEM, path, {})


FAILING = aw.Problem(
    observations=[
        aw.Observation("mri", values=["neg", "pos"], cost=2, fails="charged"),
        aw.Observation.binned("grade", edges=[2], cost=1, fails="charged"),
    ],
    actions=["wait", "treat"],
)


def test_a_failure_has_the_same_text_in_both_kinds_of_logs(tmp_path):
    empty = {"mri": ["neg", None, "pos"], "grade": [1, 3, None], "best": ["wait", "treat", "wait"]}
    said = {name: [cell or "unavailable" for cell in cells] for name, cells in empty.items()}
    pd.DataFrame(said).to_csv(tmp_path / "log.csv", index=False)
    expected = aw.fit(empty, FAILING, label="best").statistics
    for log in (said, tmp_path / "log.csv"):
        assert aw.fit(log, FAILING, label="best").statistics == expected
        with pytest.raises(TableError, match="declare fails= if it may fail"):
            aw.fit(log, PROBLEM, label="best")


STEPS = {
    "mri": ["neg", "pos"],
    "grade": [None, 2],
    "action": ["wait", "treat"],
    "reward": [1, 1],
    "order": ["mri", "mri,grade"],
    "propensity": ["0.5,0.5", "0.5,0.5,0.5"],
}


@pytest.mark.parametrize("called", ["Order", "my order", None])
def test_a_log_without_its_order_is_told_that_it_lacks_the_order(called, tmp_path):
    """The propensities were blamed, which are right."""
    log = {("order" if called is None else called) if n == "order" else n: STEPS[n] for n in STEPS}
    if called is None:
        del log["order"]
    pd.DataFrame(log).to_csv(tmp_path / "log.csv", index=False)
    wanted = "3 propensities, one for each step of an order, but the log has no column 'order': say"
    for source in (log, tmp_path / "log.csv"):
        with pytest.raises(TableError, match=wanted) as found:
            aw.fit(source, PROBLEM)
        assert str(found.value).endswith("did you mean 'Order'?") == (called == "Order")
        assert "order=, the column" in str(found.value)
    del log["propensity"]
    with pytest.raises(TableError, match="does not say how these were chosen") as found:
        aw.fit(log, PROBLEM)
    assert str(found.value).endswith("did you mean 'Order'?") == (called == "Order")


def test_rewards_of_an_action_that_are_missing_are_named():
    records = {"mri": ["neg", "pos"], "grade": [1, 2], "wait": [1, 0], "treat": [0, 1]}
    policy = aw.fit(records, PROBLEM).recommend()

    def said(log):
        for use in (lambda: aw.fit(log, PROBLEM), lambda: policy.evaluate(log)):
            with pytest.raises(TableError) as found:
                use()
        return str(found.value)

    less = {name: cells for name, cells in records.items() if name != "treat"}
    assert said(less).endswith("are: mri, grade, wait. No column has the rewards of 'treat'")
    renamed = {**less, "Treat": [0, 1]}
    assert said(renamed).endswith(
        "of 'treat'. Rename the columns that are meant: 'Treat' to 'treat'"
    )
    capital = {name.upper(): cells for name, cells in records.items()}
    assert said(capital).endswith(
        "MRI, GRADE, WAIT, TREAT. Rename the columns that are meant: 'MRI' to 'mri', 'GRADE' to "
        "'grade', 'WAIT' to 'wait', 'TREAT' to 'treat'"
    )
    misspelt = {("grde" if name == "grade" else name): cells for name, cells in records.items()}
    assert said(misspelt).endswith("it has: mri, grde, wait, treat; did you mean 'grde'?")
