"""A file that cannot be read is one error: where, and the remedy, without what the row holds."""

import pandas as pd
import pytest

import askwise as aw
from askwise.errors import TableError
from askwise.logs import draft

CITIES = [f"city {k}" for k in range(30)]
PROBLEM = aw.Problem(
    observations=[
        aw.Observation("city", values=["Köln", *CITIES], cost=1),
        aw.Observation.binned("income", edges=[5, 9], cost=1),
    ],
    actions=["lend", "decline"],
)
HEADER = "city,income,best\n"
GOOD = "Köln,3,lend\ncity 1,7,decline\n" * 50


def refused(path, content, **options):
    path.write_bytes(content)
    with pytest.raises(TableError) as error:
        aw.fit(path, PROBLEM, **({"label": "best"} | options))
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)
    return str(error.value).replace(str(path), "FILE")


@pytest.mark.parametrize("rows", [1, 30_000])
def test_latin_1_is_named_with_its_row_column_and_remedy(rows, tmp_path):
    text = HEADER.encode() + GOOD.encode() * (1 if rows == 1 else rows // 100)
    said = refused(tmp_path / "log.csv", text + "Köln,8,lend\n".encode("latin-1"))
    row = 100 if rows == 1 else rows
    assert said.startswith(f"FILE: column 'city', row {row} is not in UTF-8: save it as UTF-8, or")
    assert "pandas.read_csv('FILE', encoding='latin-1')" in said
    said = refused(tmp_path / "log.csv", ("Stadtgröße," + HEADER).encode("latin-1"))
    assert said.startswith("FILE: the name of column 1 is not in UTF-8")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Köln,8,lend,Jo Secret\n", "row 100 (line 102 of the file) has 4 cells, too many for 3"),
        ("Jo Secret,8\n", "row 100 (line 102 of the file) has 2 cells, too few for 3 columns"),
        ('"Jo Secret,8,lend\n', "row 100 (line 102 of the file): a quote is opened and never"),
    ],
)
def test_a_row_that_does_not_fit_is_named_without_what_it_holds(line, expected, tmp_path):
    said = refused(tmp_path / "log.csv", (HEADER + GOOD + line + "Köln,1,lend\n").encode())
    assert said.startswith(f"FILE: {expected}")
    assert "Secret" not in said


def test_a_file_without_rows_or_a_column_is_named(tmp_path):
    assert refused(tmp_path / "log.csv", HEADER.encode()) == "FILE has no rows"
    said = refused(tmp_path / "log.csv", b"city,best\nK,lend\n")
    assert said == "FILE has no column 'income', it has: city, best"
    with pytest.raises(TableError, match=r"log\.csv has no column 'decision', it has"):
        draft(tmp_path / "log.csv", action="decision")
    (tmp_path / "log.csv").write_bytes(HEADER.encode())
    with pytest.raises(TableError, match=r"log\.csv has no rows"):
        draft(tmp_path / "log.csv", label="best")


def test_cells_that_do_not_fit_say_what_does(tmp_path):
    said = refused(tmp_path / "log.csv", (HEADER + GOOD + "Köln,,lend\n").encode())
    assert "column 'income', row 100: the cell is empty, expected a number, or one of: '<5'" in said
    said = refused(tmp_path / "log.csv", (HEADER + GOOD + "Trier,3,lend\n").encode())
    assert "got 'Trier', expected one of: 'Köln', 'city 0'" in said
    assert "'city 6' and 23 more; declare other=" in said


def test_propensities_that_are_missing_in_some_rows(tmp_path):
    log = {"city": ["Köln"] * 3, "income": [3, 7, 9], "action": ["lend"] * 3, "reward": [1, 0, 1]}
    log["propensity"] = [0.5, None, 0.5]
    pd.DataFrame(log).to_csv(tmp_path / "log.csv", index=False)
    policy = aw.Policy.from_rule(PROBLEM, lambda known: "lend")
    for same in (log, tmp_path / "log.csv"):
        with pytest.raises(TableError, match=r"row 1: the cell is empty.*leave such rows out"):
            aw.off_policy(policy, same)
