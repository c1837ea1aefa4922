"""The steps of a case are decided by the library and written in one transaction.

`case_decider.py` decides a step. `commit_groups.py` decides and writes many steps together, in the
thread of `writer.py`. `creation.py` prepares new projects. `replay.py` decides everything again
from the events, to compare.
"""
