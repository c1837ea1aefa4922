import csv
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from itertools import pairwise
from threading import Thread
from xml.etree import ElementTree

import msgspec
import pytest
from scipy.stats import t as student_t

from askwise.errors import AskwiseError, MissingExtraError
from askwise.reproduction import write_reproduction
from askwise.reproduction.drawing import KNOWN, OTHERS, looks
from askwise.reproduction.labels import room, shorten, spread
from askwise.reproduction.statistics import MeanOfRuns, estimate, student
from askwise.reproduction.summary import Summary, display
from askwise.reproduction.words import answer, measured, tiles
from askwise.simulation.experiments.results import Cell, Oracle, Reproduction, RunInfo

FILES = {"figure1.svg", "figure1.png", "figure1.csv", "regret.csv", "run.json", "index.html"}
VOID = {"meta", "br", "hr", "img", "link", "input"}
GAINS = {"sim-oos": 70.0, "seq-oos": 80.0, "contextual-ucb": 60.0}


def reproduction(
    learners=("sim-oos", "seq-oos", "contextual-ucb"),
    costs=(1.0, 5.0, 9.0),
    seeds=(0, 1, 2),
    observations=("age", "stage"),
    gains=GAINS,
    **info,
):
    cells = [
        Cell(
            learner=learner,
            cost=cost,
            seed=seed,
            steps=1000,
            gain=gains.get(learner, 50.0) - cost + seed / 10,
            late_gain=gains.get(learner, 50.0) - cost + 1,
            rounds=1000 if learner == "contextual-ucb" else 40,
            seconds=0.25,
            bought=dict.fromkeys(observations, 0.5),
            curve=[(t, 3.0 * t**0.5 + seed, 1 + t // 25) for t in (1, 10, 100, 1000)],
            tree=f"buy age ({cost:g})\n├─ <40 → AC\n└─ 65+ → CAF",
        )
        for learner in learners
        for cost in costs
        for seed in seeds
    ]
    oracles = [
        Oracle(
            cost=cost,
            nothing=40.0,
            simultaneous=72.0 - cost,
            sequential=82.0 - cost,
            bought_simultaneous=dict.fromkeys(observations, 1.0),
            bought_sequential=dict.fromkeys(observations, 0.5 if cost < 9 else 0.0),
            tree_simultaneous="AC (buying nothing)",
            tree_sequential="AC (buying nothing)",
        )
        for cost in costs
    ]
    about = {
        "command": "askwise reproduce",
        "started": "2026-01-01T00:00:00+00:00",
        "seconds": 1.5,
        "versions": {"askwise": "0.1.0"},
        "machine": "2 cores",
        "steps": 1000,
        "seeds": list(seeds),
        "costs": list(costs),
        "learners": list(learners),
        "reward_value": 100.0,
        "max_observations": 1,
        "observations": list(observations),
        "assumptions": [("age", "four groups", "around menopause")],
    }
    return Reproduction(info=RunInfo(**about | info), oracles=oracles, cells=cells)


class Balance(HTMLParser):
    """Every element is closed by its own tag, and no id is used twice."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.attributes, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        self._note(attrs)

    def handle_startendtag(self, tag, attrs):
        self._note(attrs)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def _note(self, attrs):
        self.attributes += attrs
        self.ids += [value for name, value in attrs if name == "id"]


def written(folder, *args, **options):
    return page_of(reproduction(*args, **options), folder)


def page_of(given, folder):
    write_reproduction(given, folder)
    page = Balance()
    page.feed((folder / "index.html").read_text(encoding="utf-8"))
    page.close()
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    return page


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module", name="usual")
def usual_fixture(tmp_path_factory):
    """What is written of the usual reproduction: the folder and the page."""
    folder = tmp_path_factory.mktemp("usual") / "new" / "results"
    return folder, written(folder)


def test_all_files_are_written_into_a_new_folder(usual):
    folder, _ = usual
    assert {path.name for path in folder.iterdir()} == FILES
    assert (folder / "figure1.png").read_bytes().startswith(b"\x89PNG")
    assert ElementTree.parse(folder / "figure1.svg").getroot().tag.endswith("svg")


def test_the_tables_hold_the_cells(usual):
    given, (folder, _) = reproduction(), usual
    gains = rows(folder / "figure1.csv")
    assert list(gains[0]) == ["learner", "cost", "seed", "gain"]
    assert [(r["learner"], float(r["cost"]), int(r["seed"]), float(r["gain"])) for r in gains] == [
        (cell.learner, cell.cost, cell.seed, cell.gain) for cell in given.cells
    ]
    regret = rows(folder / "regret.csv")
    assert list(regret[0]) == ["learner", "radii", "cost", "seed", "t", "regret", "round"]
    assert [(int(r["t"]), float(r["regret"]), int(r["round"])) for r in regret] == [
        row for cell in given.cells for row in cell.curve
    ]
    run = json.loads((folder / "run.json").read_text())
    assert run["command"] == "askwise reproduce"
    assert run["seeds"] == [0, 1, 2]
    assert len(run["cells"]) == len(given.cells)
    assert run["cells"][0] == {"learner": "sim-oos", "cost": 1.0, "seed": 0, "seconds": 0.25}


def test_the_page_needs_nothing_else(usual):
    folder, page = usual
    html = (folder / "index.html").read_text(encoding="utf-8")
    assert "http://" not in html
    assert "https://" not in html
    assert "<script" not in html
    assert "@import" not in html
    assert "<link" not in html
    assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)\)", html))
    assert "src" not in {name for name, _ in page.attributes}
    links = [value for name, value in page.attributes if name in {"href", "xlink:href"}]
    assert all(link.startswith("#") and link[1:] in page.ids for link in links)


def test_the_page_has_every_section_and_the_trees(usual):
    text = "".join(usual[1].text)
    for title in (
        "Figure 1",
        "How close to the best",
        "What is bought as prices rise",
        "Regret over time",
        "Rounds",
        "What was learned",
        "What is assumed of the population",
        "How it was made",
    ):
        assert title in text
    assert "buy age (5)\n├─ <40 → AC\n└─ 65+ → CAF" in text
    assert "Contextual-UCB" in text
    assert "Infinity" not in text
    assert not re.search(r"\bnan\b", text)


def test_names_are_escaped(tmp_path):
    evil = '<b>"x" & $y$</b>'
    page = written(tmp_path, learners=[evil], observations=[evil, "b"], machine="<i>m</i>")
    html = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "<b>&" not in html
    assert "<b>&#34;" not in html
    assert '<b>"' not in html
    assert "<i>" not in html
    assert evil in "".join(page.text)


@pytest.mark.parametrize(
    ("costs", "seeds"),
    [((3.0,), (7,)), ((0.0,), (0, 1)), ((1.0, 2.0), (7,)), (tuple(map(float, range(30))), (0, 1))],
)
def test_few_or_many_prices_and_seeds(tmp_path, costs, seeds):
    text = "".join(written(tmp_path, costs=costs, seeds=seeds).text)
    assert not re.search(r"\bnan\b", text)
    shown = {(float(r["cost"]), int(r["seed"])) for r in rows(tmp_path / "figure1.csv")}
    assert shown == {(cost, seed) for cost in costs for seed in seeds}


@pytest.mark.parametrize("count", [0, 1, 7])
def test_any_number_of_observations(tmp_path, count):
    names = [f"test {i}" for i in range(count)]
    text = "".join(written(tmp_path, observations=names, costs=(1.0,)).text)
    assert (
        re.findall(r"test \d", text.partition("What is bought as prices rise")[2])[:count] == names
    )


def test_cells_without_curves(tmp_path):
    """Gains are shown as ever; the panels of regret stay empty, and nothing is made up."""
    given = reproduction()
    cells = [msgspec.structs.replace(cell, curve=[]) for cell in given.cells]
    page = page_of(Reproduction(info=given.info, oracles=given.oracles, cells=cells), tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == FILES
    assert len(rows(tmp_path / "figure1.csv")) == len(cells)
    assert rows(tmp_path / "regret.csv") == []
    text = "".join(page.text)
    assert "Seq-OOS earns more than Contextual-UCB at every price" in text
    assert "Regret so far" in text
    assert not re.search(r"\bnan\b|\binf\b", text)


def test_many_other_learners_that_lose_money(tmp_path):
    names = [f"a learner with rather a long name {i}" for i in range(9)]
    text = "".join(written(tmp_path, learners=names, gains=dict.fromkeys(names, -90.0)).text)
    assert all(name in text for name in names)
    assert "−90.0" in text  # what they earned late at a price of 1


def test_a_learner_with_negative_regret_is_named_below_the_panel(tmp_path):
    given = reproduction(costs=(1.0,), seeds=(0,))
    cells = [
        msgspec.structs.replace(c, curve=[(10, -5.0, 10)]) if c.learner == "contextual-ucb" else c
        for c in given.cells
    ]
    write_reproduction(Reproduction(info=given.info, oracles=given.oracles, cells=cells), tmp_path)
    html = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "Not drawn, below zero: Contextual-UCB ends at −5." in html


def test_the_same_rows_give_the_same_bytes(tmp_path):
    contents = []
    for _ in range(2):
        write_reproduction(reproduction(), tmp_path)  # the second time over the first
        contents.append({name: (tmp_path / name).read_bytes() for name in FILES})
    assert contents[0] == contents[1]


def test_reports_in_threads_leave_matplotlib_as_it_was(tmp_path):
    import matplotlib

    before = matplotlib.rcParams.copy()
    folders = [tmp_path / str(i) for i in range(2)]
    threads = [Thread(target=write_reproduction, args=(reproduction(), f)) for f in folders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({(folder / "index.html").read_bytes() for folder in folders}) == 1
    assert matplotlib.rcParams.copy() == before


def test_importing_reports_imports_neither_matplotlib_nor_jinja2():
    code = "import sys, askwise.reproduction; print({'matplotlib', 'jinja2'} & set(sys.modules))"
    out = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert out.strip() == "set()"


@pytest.mark.parametrize("package", ["matplotlib", "jinja2", "markupsafe"])
def test_a_missing_package_is_one_clear_error(tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"{package}.*pip install 'askwise\[report\]'"):
        write_reproduction(reproduction(), tmp_path / "results")
    assert not (tmp_path / "results").exists()


def test_a_reproduction_without_cells_or_oracles_is_refused(tmp_path):
    with pytest.raises(AskwiseError, match="nothing to report"):
        write_reproduction(reproduction(seeds=()), tmp_path)
    given = reproduction()
    with pytest.raises(AskwiseError, match="the oracles do not"):
        Summary(Reproduction(info=given.info, oracles=given.oracles[1:], cells=given.cells))


def test_the_interval_is_students():
    for freedom in (*range(1, 40), 100, 1000):
        assert student(freedom) == pytest.approx(student_t.ppf(0.975, freedom), rel=1e-5)
    assert estimate([1.0, 3.0]) == MeanOfRuns(2.0, pytest.approx(12.706205))
    assert not estimate([1.0]).known


def test_labels_keep_their_gap_and_their_limits():
    places = spread([10, 10, 11, 90, 99], gap=10, low=0, high=100)
    assert places[:3] == pytest.approx([1 / 3, 31 / 3, 61 / 3])
    assert all(b - a >= 10 - 1e-9 for a, b in pairwise(places))
    assert places[0] >= 0
    assert places[-1] <= 100
    assert spread([], gap=10, low=0, high=100) == []
    assert shorten("x" * 50) == "x" * 21 + "…"


def test_the_summary_picks_what_tells_most():
    summary = Summary(reproduction(costs=(1.0, 3.0, 5.0, 9.0, 12.0)))
    assert summary.three == [1.0, 5.0, 12.0]
    assert summary.turning == [1.0, 9.0, 12.0]  # the oracle stops buying at 9
    assert summary.focus == "seq-oos"
    assert display("x") == "x"
    assert summary.lead("seq-oos", "contextual-ucb", 3.0).mean == pytest.approx(20.0)
    assert summary.late_share("seq-oos", 1.0).mean == pytest.approx(100 * 80 / 81)


def test_the_oracle_of_a_learner_is_the_one_its_regret_was_counted_against():
    given = reproduction(learners=["seq-oos", "sim-oos", "psrl"])
    summary = Summary(given)
    assert [summary.plan(name) for name in summary.learners] == [
        "sequential",
        "simultaneous",
        "simultaneous",
    ]
    cells = [
        msgspec.structs.replace(c, curve=[(1000, 1000 * (82 - c.cost - c.gain), 40)])
        for c in given.cells
    ]
    summary = Summary(Reproduction(info=given.info, oracles=given.oracles, cells=cells))
    assert {summary.plan(name) for name in summary.learners} == {"sequential"}
    cells = [msgspec.structs.replace(c, curve=[]) for c in given.cells]
    summary = Summary(Reproduction(info=given.info, oracles=given.oracles, cells=cells))
    assert summary.plan("seq-oos") == "sequential"


def test_the_answer_in_words():
    text = answer(Summary(reproduction())).replace("\N{NO-BREAK SPACE}", " ")
    assert text.startswith(
        "Seq-OOS earns more than Contextual-UCB at every price: 20.0 ± 0.0 more per case at a "
        "price of 1 and 20.0 ± 0.0 more at 9."
    )
    assert "Seq-OOS 98.6 to 98.8 % of the sequential oracle’s gain" in text
    assert "Seq-OOS buys 1.0 observations per case at a price of 1 (the oracle: 1.0)" in text
    behind = answer(Summary(reproduction(gains=GAINS | {"seq-oos": 10.0})))
    assert behind.startswith("Seq-OOS is at no price clearly ahead of Contextual-UCB")
    assert tiles(Summary(reproduction()))[0][0] == "+20.0"
    assert measured(MeanOfRuns(-1.25, 0.01)) == "−1.2\xa0±\xa00.1"


def test_looks_differ_by_more_than_colour():
    styles = [*KNOWN.values(), *OTHERS]
    assert len({look.marker for look in styles}) == len(styles)
    assert len({str(look.dash) for look in styles}) == len(styles)
    assert looks(["seq-oos", "x"])["seq-oos"] == KNOWN["seq-oos"]
    assert len(set(looks(list("abcdef")).values())) == 6


def test_the_room_of_a_label_is_worked_out_once(monkeypatch):
    from matplotlib import textpath

    made, text_path = [], textpath.TextPath
    monkeypatch.setattr(
        textpath, "TextPath", lambda *a, **named: made.append(a) or text_path(*a, **named)
    )
    texts = ["a label of this test", "another one of it"]
    assert room(texts) == room(texts) > room([])
    assert len(made) == 2
