"""Runs as frames and figures, and what notebooks show."""

import importlib
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import askwise as aw
from askwise.errors import MissingExtraError, OptionError, TableError
from askwise.simulation.environments import Population, Table, random_model
from askwise.simulation.run_plots import moving_mean
from askwise.testing.playing import models
from inside import now_of

MODELS = list(models())
NASTY = "<script>alert('x')</script> & \"$\\frac"


def logged(model, steps=120, learner=aw.Learner, **options):
    """The same cases twice: compiled, and one by one."""
    return [
        aw.simulate(
            learner(model.problem, rng=3, **options), Population(model), steps=steps, rng=4, log=log
        )
        for log in (False, True)
    ]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("learner", [aw.Learner, aw.SeqOOS, aw.SimOOS, aw.baselines.RandomChoice])
def test_a_logged_run_decides_the_same(model, learner):
    fast, slow = logged(model, learner=learner)
    for name in ("state", "action", "reward", "round", "cost", "gain"):
        assert np.array_equal(getattr(fast, name), getattr(slow, name)), name
    assert (fast.paths, fast.propensities) == (None, None)
    for path, subset in zip(slow.paths, slow.observed.tolist(), strict=True):
        assert tuple(sorted(path)) == slow.lattice.members(subset)
    for steps in slow.propensities:
        assert steps
        assert all(0 < p <= 1 for p in steps)


@pytest.mark.parametrize("model", MODELS)
def test_a_frame_says_what_the_states_say(model):
    fast, slow = logged(model)
    problem = model.problem
    for run in (fast, slow):
        frame = run.frame()
        rows = [dict(zip(frame, row, strict=True)) for row in zip(*frame.values(), strict=True)]
        assert [row["case"] for row in rows] == list(range(1, 121))
        for row, state, action in zip(rows, run.state.tolist(), run.action.tolist(), strict=True):
            known = run.lattice.state(state)
            for o in problem.observations:
                assert row[o.name] == known.get(o.name)
            bought = row["bought" if run is fast else "order"]
            expected = {
                n for n in known if not run.lattice.observations[run.lattice.position(n)].given
            }
            assert set(filter(None, bought.split(","))) == expected
            assert row["action"] == problem.action_names[action]
            assert row["gain"] == pytest.approx(problem.reward_value * row["reward"] - row["cost"])
    assert list(fast.frame())[-6:] == ["bought", "action", "reward", "cost", "gain", "round"]
    assert list(slow.frame())[-7:] == [
        "order", "action", "reward", "cost", "gain", "round", "propensity",
    ]  # fmt: skip
    one = slow.propensities[0]
    assert [float(p) for p in slow.frame()["propensity"][0].split(",")] == pytest.approx(list(one))


def test_an_order_is_the_order():
    model = random_model(np.random.default_rng(1), [2, 2, 2], highest_cost=0.01)
    _, slow = logged(model)
    learner, shown = aw.Learner(model.problem, rng=3), []
    draws = Population(model).draw(np.random.default_rng(4), 16_384)
    for row, rewards in zip(draws.values[:120].tolist(), draws.rewards, strict=False):
        case, names = learner.open(), []
        while case.wanted:
            names += case.wanted
            full = dict(zip([o.name for o in model.problem.observations], row, strict=True))
            case.observe(
                {n: model.problem.observations[int(n[1:])].values[full[n]] for n in case.wanted}
            )
        case.reward(float(rewards[case.action_index]))
        shown.append(",".join(names))
    assert slow.frame()["order"] == shown
    assert any(order.split(",") != sorted(order.split(",")) for order in shown)


@pytest.mark.parametrize(
    ("kind", "type_", "rows"),
    [
        ("pandas", pd.DataFrame, lambda f: f.to_dict("list")),
        ("polars", pl.DataFrame, lambda f: f.to_dict(as_series=False)),
        ("pyarrow", pa.Table, lambda f: f.to_pydict()),
    ],
)
def test_frames_of_every_kind_hold_the_same(kind, type_, rows):
    for model in MODELS:
        run = logged(model)[1]
        frame = run.frame(kind)
        assert type(frame) is type_
        plain, got = run.frame(), rows(frame)
        assert list(got) == list(plain)
        for name, column in plain.items():
            cells = [None if pd.isna(c) else c for c in got[name]]
            assert cells == column, name
            assert [type(c) for c in cells] == [type(c) for c in column]


def test_a_frame_can_be_read_again():
    problem = aw.Problem(
        observations=[
            aw.Observation("score", values=[0, 1], cost=0.1),
            aw.Observation("reward", values=["low", 3], cost=0.0, fails="charged"),
        ],
        actions=["wait", "go"],
    )
    rng = np.random.default_rng(0)
    model = aw.Model(problem, np.full((2, 3), 1 / 6), rng.random((2, 3, 2)))
    run = aw.simulate(aw.baselines.RandomChoice(problem, rng=0), Population(model), steps=60, rng=0)
    frame = run.frame("pandas")
    assert "reward?" in frame.columns  # the observation; the reward itself keeps its name
    assert set(frame["reward?"].dropna()) == {"low", "3"}  # one column, one type
    full = frame[frame["score"].notna()]
    cells = {"score": full["score"], "reward": ["low"] * len(full), "r": full["reward"]}
    table = Table(problem, pd.DataFrame(cells), rewards={"wait": "r", "go": "r"})
    assert len(table) == len(full)


def test_frames_that_cannot_be_are_refused(monkeypatch):
    run = logged(MODELS[0], steps=3)[0]
    with pytest.raises(TableError, match=r"kind must be one of 'dict', 'pandas'.*got 'excel'"):
        run.frame("excel")
    real = importlib.import_module

    def without(name, *rest):
        if name == "polars":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr("askwise._support.frames.import_module", without)
    with pytest.raises(
        TableError, match="needs polars, which is not installed: pip install polars"
    ):
        run.frame("polars")


def test_an_empty_run_has_an_empty_frame_and_no_figure():
    run = aw.simulate(aw.SeqOOS(MODELS[0].problem), Population(MODELS[0]), steps=0, rng=0)
    assert {len(column) for column in run.frame().values()} == {0}
    assert "no cases" in run._repr_html_()
    with pytest.raises(OptionError, match="nothing to plot"):
        run.plot()


# --- figures -------------------------------------------------------------------------------------


@pytest.mark.parametrize("cases", [1, 7, 39, 40, 1_000, 12_345])
def test_a_moving_mean_is_the_mean_of_its_window(cases):
    values = np.random.default_rng(cases).random(cases)
    at, mean = moving_mean(values)
    width = max(1, cases // 40)
    assert at[-1] == cases
    assert len(at) <= 200
    for end, m in zip(at.astype(int), mean, strict=True):
        assert m == pytest.approx(values[end - width : end].mean())


def test_a_figure_shows_what_was_bought():
    model = random_model(np.random.default_rng(0), [2] * 10, max_observations=2)
    run = aw.simulate(
        aw.baselines.RandomChoice(model.problem, rng=0), Population(model), steps=800, rng=0
    )
    figure = run.plot()
    above, below = figure.axes
    assert [line.get_label().split(",")[0] for line in above.lines] == ["gain", "spent"]
    assert above.lines[0].get_ydata()[-1] == pytest.approx(run.gain[-20:].mean())
    shares = run.bought()
    most = sorted(shares, key=lambda name: -shares[name])[:8]
    assert [line.get_label() for line in below.lines] == [n for n in shares if n in most]
    late = run.bought(slice(-20, None))
    for line in below.lines:
        assert line.get_ydata()[-1] == pytest.approx(late[line.get_label()])
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_a_figure_takes_any_name_and_leaves_matplotlib_as_it_was():
    import matplotlib

    problem = aw.Problem(
        observations=[
            aw.Observation(NASTY, values=[0, 1], cost=1.0),
            aw.Observation("_hidden", values=[0, 1], cost=1.0),
        ],
        actions=["a", "b"],
    )
    model = aw.Model(problem, np.full((2, 2), 0.25), np.full((2, 2, 2), 0.5))
    before = dict(matplotlib.rcParams)
    run = aw.simulate(aw.baselines.RandomChoice(problem, rng=0), Population(model), steps=1, rng=0)
    assert run.plot()._repr_png_()
    assert len(run.plot().axes[1].get_legend().get_texts()) == 2
    assert dict(matplotlib.rcParams) == before


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    run = logged(MODELS[0], steps=3)[0]

    def without(name):
        raise ImportError(name)

    monkeypatch.setattr("askwise._support.extras.import_module", without)
    with pytest.raises(MissingExtraError, match=r"askwise\[report\]"):
        run.plot()


# --- HTML ----------------------------------------------------------------------------------------


TAGS = {"div", "strong", "table", "thead", "tbody", "tr", "th", "td", "pre"}


class Strict(HTMLParser):
    """Every tag is closed, none but these is there, and nothing comes from elsewhere."""

    def __init__(self, html):
        super().__init__()
        self.open, self.words = [], []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        assert tag in TAGS
        assert {name for name, _ in attrs} <= {"style", "scope"}
        for _, value in attrs:
            assert not re.search(r"url|#[0-9a-f]{3}|rgb|white|black", value)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def words(thing):
    html = thing._repr_html_()
    ET.fromstring(f"<div>{html}</div>")
    return " ".join(Strict(html).words)


def nasty_model():
    problem = aw.Problem(
        observations=[
            aw.Observation(NASTY, values=["<b>", "&amp;"], cost=3.5, fails="refunded"),
            aw.Observation("age", values=["young", "old"], given=True),
        ],
        actions=["<i>wait", "treat"],
        reward_value=1200.0,
        panels=[aw.Panel(observations=[NASTY], fee=12.0)],
    )
    rng = np.random.default_rng(0)
    return aw.Model(problem, np.full((3, 2), 1 / 6), rng.random((3, 2, 2)))


def test_whatever_it_is_called_it_is_shown_as_text():
    model = nasty_model()
    learner = aw.Learner(model.problem, rng=0)
    run = aw.simulate(learner, Population(model), steps=300, rng=0)
    shown = words(model.problem)
    for word in (
        NASTY,
        "<b>, &amp;",
        "3.5",
        "refunded",
        "given",
        "12",
        "<i>wait",
        "1,200",
        "1 of 1",
    ):
        assert word in shown, word
    shown = words(run)
    for word in (NASTY, "300 cases", "gain", "spent", f"{run.gain.mean():,.4g}"):
        assert word in shown, word
    shown = words(learner)
    assert "300 cases" in shown
    assert str(learner.recommend().tree()) in shown


@pytest.mark.parametrize("name", sorted(aw.learners.LEARNERS))
def test_every_learner_shows_itself_and_is_not_changed(name):
    model = MODELS[1]
    learner = aw.learners.LEARNERS[name](model.problem, rng=0)
    other = aw.learners.LEARNERS[name](model.problem, rng=0)
    for steps in (0, 30):
        for x in (learner, other):
            aw.simulate(x, Population(model), steps=steps, rng=1)
        assert name in words(learner)
    assert learner.statistics == other.statistics
    assert now_of(learner).rng.random() == now_of(other).rng.random()


def test_large_problems_are_shown_in_part():
    problem = aw.Problem(
        observations=[aw.Observation(f"o{i}", values=[0, 1], cost=1.0) for i in range(200)],
        actions=["a", "b"],
        max_observations=1,
    )
    assert "… and 140 more" in words(problem)
    assert "if it fails" not in words(problem)
    assert len(problem._repr_html_()) < 40_000
