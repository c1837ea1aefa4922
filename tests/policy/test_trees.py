"""Trees: what they say of each node adds up, in every form."""

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import askwise as aw
from askwise.errors import ModelError
from askwise.policy.trees import Act
from askwise.simulation.environments import Population, breast_cancer
from random_problems import random_model, random_problem


def models(seed, number, **options):
    rng = np.random.default_rng(seed)
    for _ in range(number):
        yield random_model(rng, random_problem(rng, most=60, **options))


def nodes(node):
    yield node
    if not isinstance(node, Act):
        for _, child in node.branches:
            yield from nodes(child)


def oracles(model):
    return [aw.oracle.sequential(model), aw.oracle.simultaneous(model)]


@pytest.mark.parametrize("batch", range(3))
def test_shares_and_gains_add_up_to_the_value_of_the_policy(batch):
    for model in models(20 + batch, 40):
        for policy in oracles(model):
            root = policy.tree().root
            leaves = [n for n in nodes(root) if isinstance(n, Act)]
            assert sum(n.reason.share for n in leaves) == pytest.approx(1)
            gain = sum(n.reason.share * n.reason.gain for n in leaves)
            assert gain == pytest.approx(policy.evaluate(model))
            assert root.reason.gain == pytest.approx(policy.evaluate(model))
            for node in nodes(root):
                assert node.reason.variance == 0
                if isinstance(node, Act):
                    continue
                below = [child.reason for _, child in node.branches]
                assert sum(r.share for r in below) == pytest.approx(node.reason.share)
                if node.reason.share > 0:
                    mean = sum(r.share * r.gain for r in below) / node.reason.share
                    assert mean == pytest.approx(node.reason.gain)


def test_a_policy_may_be_shown_with_other_numbers():
    one, other = breast_cancer(cost=5.0), breast_cancer(cost=5.0)
    flat = aw.Model(one.problem, np.full(120, 1 / 120), other.reward)
    policy = aw.oracle.sequential(one)
    assert policy.tree(flat).root.reason.gain == pytest.approx(policy.evaluate(flat))
    with pytest.raises(ModelError, match="two different problems"):
        policy.tree(breast_cancer(cost=6.0))
    with pytest.raises(ModelError, match=r"expected a Model, or evidence .* got int"):
        policy.tree(3)


def test_what_stopping_would_earn():
    model = breast_cancer(cost=5.0)
    tree = aw.oracle.sequential(model).tree()
    blind = aw.oracle.fixed(model, [])
    assert tree.root.reason.stop.gain == pytest.approx(blind.value)
    assert tree.root.reason.stop.action == blind.action({})


def test_spending_is_that_of_the_way_there():
    model = breast_cancer(cost=5.0)
    for node in nodes(aw.oracle.sequential(model).tree().root):
        depth = node.reason.spent / 5.0
        assert depth == pytest.approx(round(depth))
        if not isinstance(node, Act):
            for _, child in node.branches:
                assert child.reason.spent == pytest.approx(node.reason.spent + 5)


def test_text():
    problem = aw.Problem(
        observations=[
            aw.Observation("scan", values=["low", "mid", "high"], cost=1),
            aw.Observation("mri", values=["neg", "pos"], cost=9.5, fails="charged"),
        ],
        actions=["wait", "treat"],
        reward_value=100,
    )
    probability = np.zeros((3, 3))
    probability[:, :2] = [[0.4, 0.0], [0.3, 0.0], [0.15, 0.15]]
    reward = np.zeros((3, 3, 2))
    reward[:, 0], reward[:, 1], reward[:, 2] = [1, 0.5], [0, 1], [0, 0]
    policy = aw.oracle.sequential(aw.Model(problem, probability, reward))
    assert str(policy.tree()).splitlines() == [
        "                                 cases  spent  gain  stopping here",
        "buy scan (1)                      100%    0.0  96.1  wait 85.0",
        "├─ low or mid → wait               70%    1.0  99.0",
        "└─ high → buy mri (9.5)            30%    1.0  89.5  treat 74.0",
        "   ├─ neg or unavailable → wait    15%   10.5  89.5",
        "   └─ pos → treat                  15%   10.5  89.5",
    ]
    assert policy.tree().outline().splitlines()[1] == "├─ low or mid → wait"


def test_the_interval_covers_the_truth():
    """Of the gain of what is recommended, about 19 times in 20."""
    covered = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        problem = aw.Problem(
            observations=[aw.Observation(n, values=[0, 1], cost=3) for n in "xy"],
            actions=["a", "b"],
            reward_value=100,
        )
        shape = (2, 2)
        model = aw.Model(problem, rng.dirichlet(np.ones(4)).reshape(shape), rng.random((2, 2, 2)))
        learner = aw.Learner(problem, rng=seed)
        aw.simulate(learner, Population(model), steps=600, rng=seed)
        policy = learner.recommend()
        reason = policy.tree().root.reason
        error = abs(reason.gain - policy.evaluate(model))
        covered += error < 1.96 * reason.variance**0.5
        assert 0.05 < reason.variance**0.5 < 8
    assert covered >= 52


def test_a_learner_that_knows_nothing_has_a_tree():
    problem = breast_cancer(cost=5.0).problem
    for kind in (aw.SeqOOS, aw.SimOOS, aw.Learner):
        assert "buying nothing" in kind(problem).recommend().tree()
        assert kind(problem).policy.tree().outline()


def test_names_cannot_break_out():
    problem = aw.Problem(
        observations=[aw.Observation("<script>alert(1)</script>", values=["<b>", '"&'], cost=1)],
        actions=["</svg>", "<i>x</i>"],
        reward_value=100,
    )
    model = aw.Model(problem, [0.5, 0.5], [[1, 0], [0, 1]])
    tree = aw.oracle.sequential(model).tree()
    ET.fromstring(tree.svg())  # would raise
    page = aw.explain(model, title="<u>t</u>", notes=["<script>2</script>"]).html()
    for html in (tree.html(), tree.svg(), page):
        for text in ("<script>", "<b>x", '"&"', "<i>x", "<u>t"):
            assert text not in html


def test_pictures_of_all_kinds_are_well_formed():
    for model in models(5, 30):
        for policy in oracles(model):
            tree = policy.tree()
            ET.fromstring(tree.svg())
            html = tree.html()
            assert html.count("<details") == html.count("</details>")
            assert html == tree._repr_html_()
            data = json.loads(json.dumps(tree.to_dict()))
            assert ("action" in data) == isinstance(tree.root, Act)
            assert data["gain"] == pytest.approx(policy.evaluate(model))


def test_equal_trees_are_equal():
    model = breast_cancer(cost=5.0)
    assert aw.oracle.sequential(model).tree() == aw.oracle.sequential(model).tree()
    assert aw.oracle.sequential(model).tree() != aw.oracle.simultaneous(model).tree()
    assert len({aw.oracle.sequential(model).tree(), aw.oracle.sequential(model).tree()}) == 1
    assert repr(aw.oracle.sequential(model).tree()).startswith(" ")


def test_the_page_says_what_the_tree_and_the_worth_say(tmp_path):
    model = breast_cancer(cost=5.0)
    explanation = aw.explain(model, title="Clinic", notes=["As published."])
    path = tmp_path / "page.html"
    explanation.save(path)
    page = path.read_text(encoding="utf-8")
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page
    assert "<script" not in page
    for words in ("Clinic", "As published.", "WHO score", "44.9", "83.4"):
        assert words in page
    assert explanation.spend == pytest.approx(5 + 5 * 0.63 + 5 * 0.63, abs=0.1)
    assert str(explanation).count("\n") > 12


def test_large_trees_fold():
    policy = aw.oracle.sequential(breast_cancer(cost=5.0))
    whole = policy.tree()
    shallow = policy.tree(max_depth=1)
    lines = shallow.outline().splitlines()
    assert len(lines) == 1 + len(whole.root.branches)
    hidden = len(whole.outline().splitlines()) - len(lines)
    folded = [child for _, child in shallow.root.branches if getattr(child, "folded", 0)]
    assert sum(child.folded for child in folded) == hidden > 0
    assert f"… {folded[0].folded} more" in str(shallow)
    assert f"… {folded[0].folded} more" in shallow.html()
    assert f"… {folded[0].folded} more" in shallow.svg()
    assert shallow.to_dict()["branches"][0]["folded"] == folded[0].folded
    assert shallow.root.reason == whole.root.reason
    rare = policy.tree(min_share=0.3)
    assert len(rare.outline().splitlines()) < len(whole.outline().splitlines())
    assert policy.tree(max_depth=99, min_share=0.0) == whole
    assert policy.tree(max_depth=99).to_dict() == whole.to_dict()


@pytest.mark.parametrize(
    "wrong",
    [
        *({"max_depth": depth} for depth in (0, True, 1.5, "2", [2])),
        *({"min_share": share} for share in (1.5, None, "x", True, float("nan"))),
    ],
)
def test_trees_fold_by_what_makes_sense(wrong):
    with pytest.raises(aw.AskwiseError, match=next(iter(wrong))):
        aw.oracle.sequential(breast_cancer(cost=5.0)).tree(**wrong)


def test_what_is_spent_before_a_split_that_buys_nothing_has_no_cost_of_an_action():
    problem = aw.Problem(
        observations=[
            aw.Observation("size", values=["small", "large"], given=True),
            aw.Observation("scan", values=["neg", "pos"], cost=1.0),
        ],
        actions=["wait", aw.Action("operate", cost=30.0)],
        reward_value=100.0,
    )
    reward = [[[1.0, 0.5], [0.9, 0.5]], [[0.1, 1.0], [0.1, 1.0]]]
    model = aw.Model(problem, np.full((2, 2), 0.25), reward)
    for policy in (aw.oracle.sequential(model), aw.oracle.fixed(model, ["scan"])):
        half = policy.mixed(aw.Policy.from_rule(problem, lambda known: "operate"), 0.5)
        for one in (policy, half):
            split = [n for n in nodes(one.tree(model).root) if not isinstance(n, Act)]
            idle = [n for n in split if n.observation in ("size", "chance")]
            assert idle
            assert [n.reason.spent for n in idle] == [0.0] * len(idle)


def test_trees_of_sets_are_folded_too():
    problem = aw.Problem(
        observations=[aw.Observation(n, values=["a", "b"], cost=0.01) for n in "xyz"],
        actions=["p", "q"],
        reward_value=10.0,
    )
    odd = np.indices((2, 2, 2)).sum(0) % 2
    model = aw.Model(problem, np.full((2, 2, 2), 0.125), np.stack([odd, 1 - odd], -1))
    policy = aw.oracle.simultaneous(model)
    assert policy.tree(max_depth=1).outline().splitlines() == [
        "buy x + y + z (0.03)",
        "├─ x a → by y … 6 more",
        "└─ x b → by y … 6 more",
    ]
    assert len(str(policy.tree(max_depth=2)).splitlines()) == 1 + 1 + 2 + 4
    assert policy.tree(max_depth=3) == policy.tree()
    rare = str(policy.tree(min_share=0.3))
    assert rare.count("by z … 2 more") == 4
    assert "by z … 2 more" in policy.tree(min_share=0.3).html()
    assert "by z … 2 more" in policy.tree(min_share=0.3).svg()


def test_the_share_of_a_second_given_value_rests_on_the_cases_with_the_first():
    """Of 20,000 rows 100 have the first value, so how often the second comes there is not known."""
    problem = aw.Problem(
        observations=[
            *(aw.Observation(n, values=["a", "b"], given=True) for n in "gh"),
            aw.Observation("x", values=["a", "b"], cost=1.0),
        ],
        actions=["p", "q"],
        reward_value=100.0,
    )
    rng = np.random.default_rng(0)
    g = (np.arange(20_000) < 100).astype(int)
    h, x = rng.integers(0, 2, (2, 20_000))
    rows = {name: ["ab"[v] for v in seen] for name, seen in zip("ghx", (g, h, x), strict=True)}
    rows |= {"p": (1.0 - h).tolist(), "q": [0.0] * 20_000}
    policy = aw.Policy.from_rule(
        problem, lambda known: "p" if known["g"] == "a" or known["h"] == "a" else "q"
    )
    root = policy.tree(aw.fit(rows, problem, rng=0).evidence()).root
    ((_, _), (_, rare)) = root.branches
    # p(1 − p)/100 of gains 100 and 0, widened by the factor of selection
    assert 1.96 * rare.reason.variance**0.5 == pytest.approx(1.2 * 1.96 * 5.0, rel=0.15)
