"""All compiled code: arrays in, `out` filled, nothing checked (the callers did).

Importing this package imports Numba, so the rest of askwise does it inside the functions that need
it. The order of every sum is fixed and fast-math is off: compiled, interpreted, today and on
another machine, a kernel gives the same bits.
"""
