"""This package has all compiled code. A kernel takes arrays and fills `out`.

A kernel checks nothing, because its callers check the input. Importing this package imports Numba,
so the rest of askwise imports it inside the functions that need it. The order of every sum is fixed
and fast-math is off. So a kernel gives the same bits compiled and interpreted, and on every
machine.
"""
