"""Nothing lost, nothing doubled: a harness that kills `askwise serve` and looks at what is left.

Patients (`patients.py`) send requests, many of them twice, late or out of order, and write down
every answer they get (`record.py`). Meanwhile processes of the server are killed, at any moment
(`reaper.py`), and an operator changes prices, makes new versions of the problem, backs up and thins
(`operators.py`). A request without an answer is sent again with the same key. In the end
(`audit.py`) every acknowledged event must be there once, with the answer that was given, and the
counters must be what the events make them.

    python -m chaos --kills 20 --events 10000 --seed 7
"""
