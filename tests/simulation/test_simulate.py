"""Runs: their columns, their seeds, their progress, and what is recommended after them."""

import io
import sys
import types
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import askwise as aw
from askwise._support import progress as _progress
from askwise._support.numbers import shown
from askwise.errors import ModelError, OptionError
from askwise.learners import LEARNERS
from askwise.learners.optimistic import OptimisticInFull
from askwise.policy.trees import Act
from askwise.policy.trees.growing import node_of
from askwise.simulation.environments import CHUNK, Draws, Population, breast_cancer, random_model
from askwise.testing import see
from inside import now_of, strategy_of

PATIENTS = Population(breast_cancer(5.0))


def run_of(name, *, steps, seed=1, environment=PATIENTS, **options):
    learner = LEARNERS[name](environment.problem, rng=seed, **options)
    return learner, aw.simulate(learner, environment, steps=steps, rng=seed)


# --- the columns of a run ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["seq-oos", "sim-oos", "contextual-ucb", "random-choice"])
def test_the_columns_agree_with_one_another(name):
    learner, run = run_of(name, steps=2000)
    problem = PATIENTS.problem
    prices = {o.name: o.cost for o in problem.observations}
    known = [learner.statistics.lattice.state(state) for state in run.state.tolist()]
    assert len(run) == 2000
    assert run.cost.tolist() == [sum(prices[n] for n in state) for state in known]
    assert run.gain.tolist() == (problem.reward_value * run.reward - run.cost).tolist()
    members = [learner.statistics.lattice.members(subset) for subset in run.observed.tolist()]
    names = [tuple(problem.observations[i].name for i in subset) for subset in members]
    assert names == [tuple(state) for state in known]
    for part in (slice(None), slice(-200, None)):
        shares = run.bought(part)
        assert list(shares) == list(prices)
        for observation, share in shares.items():
            assert share == pytest.approx(np.mean([observation in s for s in known[part]]))
    assert set(run.reward.tolist()) <= {0.0, 1.0}
    assert ((run.action >= 0) & (run.action < len(problem.actions))).all()
    assert run.round[0] == 1
    assert set(np.diff(run.round).tolist()) <= {0, 1}
    assert run.round[-1] == now_of(learner).round
    assert repr(run) == f"<Run of 2,000 cases with mean gain {shown(run.gain.mean())}>"


def test_a_run_goes_on_where_the_learner_was():
    once, whole = run_of("seq-oos", steps=CHUNK + 500)
    learner = aw.SeqOOS(PATIENTS.problem, rng=1)
    generator = np.random.default_rng(1)
    parts = [aw.simulate(learner, PATIENTS, steps=n, rng=generator) for n in (CHUNK, 500)]
    assert np.array_equal(whole.state, np.concatenate([part.state for part in parts]))
    assert np.array_equal(whole.round, np.concatenate([part.round for part in parts]))
    assert learner.statistics == once.statistics


@pytest.mark.parametrize("kind", [aw.SimOOS, aw.SeqOOS])
def test_rounds_of_a_given_length_are_as_long_in_a_run(kind):
    class InPairs(OptimisticInFull):
        def round_length(self, now):
            return 2

    class Paired(kind):
        _kind = InPairs

    model = breast_cancer(cost=5.0)
    learner = Paired(model.problem)
    run = aw.simulate(learner, Population(model), steps=2_000, rng=1)
    assert max(np.bincount(run.round)) == 2  # shorter where a count doubled first


def test_no_steps_are_no_cases():
    learner, run = run_of("seq-oos", steps=0)
    assert len(run) == len(run.gain) == len(run.observed) == 0
    assert repr(run) == "<Run of 0 cases>"
    assert learner.statistics.cases == 0
    assert now_of(learner).round == 0


@pytest.mark.parametrize("steps", [-1, 1.5, True, "10", None])
def test_steps_are_a_whole_number(steps):
    learner = aw.SeqOOS(PATIENTS.problem)
    with pytest.raises(OptionError, match=f"steps must be .* at least 0, got {steps!r}"):
        aw.simulate(learner, PATIENTS, steps=steps)
    assert learner.statistics.cases == 0


def test_a_model_is_no_environment():
    learner = aw.SeqOOS(PATIENTS.problem)
    with pytest.raises(OptionError, match=r"expected an environment, such as Population\(model\)"):
        aw.simulate(learner, PATIENTS.model, steps=10)


def test_the_learner_and_the_environment_share_a_problem():
    learner = aw.SeqOOS(breast_cancer(6.0).problem)
    with pytest.raises(OptionError, match="of two different problems"):
        aw.simulate(learner, PATIENTS, steps=10)


@pytest.mark.parametrize("name", ["seq-oos", "sim-oos", "psrl"])
def test_seeds_in_threads_give_what_they_give_one_after_the_other(name):
    from askwise._kernels.learners import runs

    assert runs.run_sequential.targetoptions["nogil"]
    assert runs.run_simultaneous.targetoptions["nogil"]
    alone = [run_of(name, steps=30_000, seed=seed) for seed in (1, 2)]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(lambda seed: run_of(name, steps=30_000, seed=seed), (1, 2)))
    for (learner, run), (other, twin) in zip(alone, together, strict=True):
        assert np.array_equal(run.state, twin.state)
        assert np.array_equal(run.action, twin.action)
        assert np.array_equal(run.gain, twin.gain)
        assert learner.statistics == other.statistics
    assert not np.array_equal(alone[0][1].state, alone[1][1].state)


# --- the progress bar ----------------------------------------------------------------------------


class Screen(io.StringIO):
    def __init__(self, *, terminal):
        super().__init__()
        self.terminal = terminal

    def isatty(self):
        return self.terminal


def show_on(screen, monkeypatch):
    """Not a fixture: pytest puts its own stderr in place between a fixture and its test."""
    monkeypatch.setenv("TERM", "xterm")  # Rich draws no bar on a dumb one
    monkeypatch.setattr("sys.stderr", screen)
    return screen


@pytest.mark.parametrize(
    ("terminal", "patience", "shown"),
    [(True, -1.0, True), (True, 1000.0, False), (False, -1.0, False)],
)
def test_a_bar_appears_on_a_terminal_when_it_takes_long(monkeypatch, terminal, patience, shown):
    screen = show_on(Screen(terminal=terminal), monkeypatch)
    monkeypatch.setattr(_progress, "PATIENCE", patience)
    run_of("no-information", steps=3 * CHUNK)
    assert ("cases" in screen.getvalue()) is shown
    assert (f"{3 * CHUNK}/{3 * CHUNK}" in screen.getvalue()) is shown
    assert bool(screen.getvalue()) is shown


def test_the_bar_waits_for_two_seconds(monkeypatch):
    screen = show_on(Screen(terminal=True), monkeypatch)
    clock = types.SimpleNamespace(now=50.0)
    monkeypatch.setattr(_progress, "time", types.SimpleNamespace(monotonic=lambda: clock.now))
    with _progress.ProgressBar("cases", 10) as progress:
        clock.now += 2.0
        progress.advance(3)
        assert screen.getvalue() == ""
        clock.now += 0.1
        progress.advance(4)
        assert " 7/10" in screen.getvalue()


def test_a_notebook_has_a_bar_that_goes_away(monkeypatch):
    shown = []
    handle = types.SimpleNamespace(update=lambda data, raw: shown.append(data["text/plain"]))

    def display(data, raw, display_id):
        shown.append(data["text/plain"])
        assert "<progress" in data["text/html"]
        return handle

    shell = types.SimpleNamespace(get_ipython=lambda: types.SimpleNamespace(kernel=None))
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=display))
    monkeypatch.setattr(_progress, "PATIENCE", -1.0)
    monkeypatch.setattr(_progress, "OFTEN", -1.0)
    with _progress.ProgressBar("cases", 1_000) as progress:
        progress.advance(300)
        progress.advance(700)
    assert shown == ["cases 300/1,000", "cases 1,000/1,000", ""]


# --- what is recommended -------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in LEARNERS if n != "policy-ucb"])
def test_recommending_changes_nothing(name):
    learner, _ = run_of(name, steps=300)
    other, _ = run_of(name, steps=300)
    before = learner.statistics.copy()
    state, policy = now_of(learner).rng.bit_generator.state, learner.policy
    first, second = learner.recommend(), learner.recommend()
    assert first.tree() == second.tree()
    assert first.value == second.value
    assert learner.statistics == before
    assert now_of(learner).rng.bit_generator.state == state
    assert now_of(learner).round == now_of(other).round
    assert learner.policy is policy
    futures = [aw.simulate(x, PATIENTS, steps=300, rng=2) for x in (learner, other)]
    assert np.array_equal(futures[0].state, futures[1].state)
    assert np.array_equal(futures[0].action, futures[1].action)
    assert np.array_equal(futures[0].round, futures[1].round)


@pytest.mark.parametrize("name", ["seq-oos", "sim-oos"])
def test_what_is_recommended_is_good_and_promises_what_it_gains(name):
    acquisition = strategy_of(LEARNERS[name](PATIENTS.problem)).acquisition
    best = getattr(aw.oracle, acquisition.name)(PATIENTS.model).value
    errors = []
    for seed in range(20):
        learner, _ = run_of(name, steps=100_000, seed=seed)
        policy = learner.recommend()
        exact = policy.evaluate(PATIENTS.model)
        errors.append(policy.value - exact)
        assert exact >= 0.98 * best
        assert policy.value == pytest.approx(exact, abs=0.02 * best)
    assert abs(np.mean(errors)) < 0.005 * best


def test_nothing_is_recommended_before_the_first_case():
    for name in ("seq-oos", "sim-oos"):
        assert "buying nothing" in LEARNERS[name](PATIENTS.problem).recommend().tree()


def test_no_look_is_recommended_whose_answer_changes_nothing():
    """Whoever deploys a policy should not pay for an answer that leads to one action anyway."""
    for seed in range(5):
        model = random_model(
            np.random.default_rng(seed), [3, 2, 2], actions=2, reward_value=100.0, highest_cost=5.0
        )
        learner, _ = run_of("seq-oos", steps=20_000, seed=seed, environment=Population(model))
        policy = learner.recommend()
        open_nodes = [node_of(policy, 0)]
        while open_nodes:
            node = open_nodes.pop()
            if not isinstance(node, Act):
                children = [child for _, child in node.branches]
                assert len(children) > 1 or not isinstance(children[0], Act), policy.tree()
                open_nodes.extend(children)


def test_a_learner_played_by_hand_is_a_learner_simulated():
    """One case by hand between two runs is the case a run would have had."""
    straight, whole = run_of("seq-oos", steps=CHUNK + 1)
    learner = aw.SeqOOS(PATIENTS.problem, rng=1)
    generator = np.random.default_rng(1)
    aw.simulate(learner, PATIENTS, steps=CHUNK, rng=generator)
    draws = PATIENTS.draw(generator, CHUNK)
    case = see(learner.open(), PATIENTS.problem, draws.values[0].tolist())
    assert case.state_index == whole.state[-1]
    case.reward(draws.rewards[0, case.action_index])
    assert learner.statistics == straight.statistics


@pytest.mark.parametrize(
    ("values", "rewards", "message"),
    [
        ([[0, 2]], [[0.0, 1.0]], "observation 'b' that is not one of its 2"),
        ([[-1, 0]], [[0.0, 1.0]], "observation 'a' that is not one of its 3"),
        ([[30_000, 0]], [[0.0, 1.0]], "0 to 30000"),
        ([[0]], [[0.0, 1.0]], "drew 1 values and 2 rewards a case, expected 2 and 2"),
        ([[0, 0]], [[0.0]], "drew 2 values and 1 rewards"),
        ([[0, 0]], [[0.0, 1.5]], "a reward that is not from 0 to 1"),
        ([[0, 0]], [[float("nan"), 1.0]], "a reward that is not from 0 to 1"),
    ],
)
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("kind", [aw.SeqOOS, aw.SimOOS, aw.Learner])
def test_what_an_environment_may_not_draw_is_refused(kind, log, values, rewards, message):
    """Compiled loops check nothing: such a value ended the process."""

    class Careless:
        problem = aw.Problem(
            observations=[
                aw.Observation("a", values=[0, 1, 2], cost=0.1),
                aw.Observation("b", values=[0, 1], cost=0.1),
            ],
            actions=["wait", "treat"],
        )

        def draw(self, rng, cases):
            drawn = np.repeat(np.array(values, np.int16), cases, axis=0)
            return Draws(drawn, np.repeat(rewards, cases, axis=0))

    learner = kind(Careless.problem, rng=0)
    with pytest.raises(ModelError, match=message):
        aw.simulate(learner, Careless(), steps=50, rng=0, log=log)
    assert learner.statistics.cases == 0
