"""A page of a large tree: it folds, and what is spent is still that of the whole."""

import pytest

import askwise as aw
from askwise.simulation.environments import breast_cancer


def test_a_folded_explanation_spends_what_the_whole_spends():
    model = breast_cancer(cost=5.0)
    whole, folded = aw.explain(model), aw.explain(model, max_depth=1)
    assert folded.spend == pytest.approx(whole.spend)
    assert len(str(folded.tree).splitlines()) < len(str(whole.tree).splitlines())
    assert " more" in folded.html()
    assert folded.gain == whole.gain
