"""What happens to a case: decided by the library, written in one transaction.

`case_decider.py` decides a step, `commit_groups.py` decides and writes many of them together,
`writer.py` is the thread that does so; `creation.py` prepares new projects, and `replay.py` decides
everything again from the events, to compare.
"""
