"""From bytes on a socket to the handler of a call, and back.

In the order of a request: `server.py` and `protocol.py` (uvicorn with limits), `asgi.py` (one
request in, one response out), `app.py` (is it allowed, which handler, what if it fails) with
`access.py` and `routing.py`, then a handler of `decision_handlers.py`, `project_handlers.py` or
`report_handlers.py`. Where a new call is added is said in `api/calls.py`.
"""
