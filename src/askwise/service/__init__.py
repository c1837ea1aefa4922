"""`askwise serve`: the library's decisions over HTTP, each of them durable before it is answered.

This package has no mathematics. Requests become events in a ledger. The library decides what to
buy, what to do and what to count, with the policy that the case was opened under.

| package | what |
| --- | --- |
| `operations` | processes: workers, the replanner, the demo; export and import of projects |
| `http` | from bytes on a socket to the handler of a call, and back |
| `client` | the same calls from the other side |
| `backend` | what one process holds: ledger, policies, tokens, the writer; readiness and metrics |
| `dashboard` | summaries and explanations of a project, and the page that shows them |
| `decisions` | what happens to a case, and the thread that writes it |
| `replanning` | from counters to the next version of a policy |
| `ledger` | durable events: the contract, SQLite, PostgreSQL |
| `api` | the table of calls, the messages, the refusals |

A package imports only from those below it (`pyproject.toml` has the contract). To add an HTTP call,
see `api/calls.py`; to add a database, see `ledger/__init__.py`.
"""
