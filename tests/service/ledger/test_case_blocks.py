"""Blocks of cases: every case is in one, and the newer half of them is always drawn finely."""

from hypothesis import given
from hypothesis import strategies as st

from askwise.service.ledger.case_blocks import block_of, cases_of


@given(st.integers(1, 2**53 - 1))
def test_every_case_is_in_one_block_and_blocks_follow_one_another(case):
    block = block_of(case)
    cases = cases_of(block)
    assert case in cases
    assert cases_of(block + 1).start == cases.stop
    assert block_of(case + 1) - block == (case + 1 == cases.stop)


@given(st.integers(1025, 2**53 - 1))
def test_the_newer_half_of_the_cases_has_enough_points(cases):
    assert 32 <= block_of(cases) - block_of(cases - cases // 2) <= 64


def test_the_first_blocks_are_narrow():
    assert [len(cases_of(b)) for b in (0, 63, 64, 95, 96)] == [16, 16, 32, 32, 64]
