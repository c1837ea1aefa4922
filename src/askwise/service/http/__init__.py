"""The HTTP layer leads from bytes on a socket to the handler of a call, and back.

A request passes these modules in order. `server.py` and `protocol.py` are uvicorn with limits.
`asgi.py` reads one request and sends one response. `app.py`, with `access.py` and `routing.py`,
checks the request, finds its handler and handles failures. The handlers are in
`decision_handlers.py`, `project_handlers.py` and `report_handlers.py`. `api/calls.py` says how to
add a call.
"""
