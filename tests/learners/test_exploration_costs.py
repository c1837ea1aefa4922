"""What is tried instead of the plan's action."""

import numpy as np
import pytest

from askwise.learners.exploration_costs import actions_to_try


@pytest.mark.parametrize("root", [1, 2, 5, 10, 46, 1_000, 20_000])
def test_an_action_is_seldom_below_twice_the_cube_root_of_all_cases_exactly(root):
    second, plan = np.array([[0.9, 0.1]]), np.array([0], np.int16)
    every = root**3
    for taken, tried in ((2 * root - 1, 1), (2 * root, 0)):
        counts = np.array([[every - taken, taken]])
        assert actions_to_try(second, plan, counts).tolist() == [tried]


def test_what_the_other_world_likes_best_is_tried_where_nothing_is_seldom():
    second, plan = np.array([[0.2, 0.7], [0.6, 0.1]]), np.array([0, 0], np.int16)
    assert actions_to_try(second, plan, np.full((2, 2), 500)).tolist() == [1, 0]
