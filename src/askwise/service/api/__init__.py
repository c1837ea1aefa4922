"""What may be asked of the service and what it answers: calls, messages, refusals, limits.

`calls.py` is the one table of calls: the routes, the OpenAPI document and the client are made from
it. Nothing here knows of sockets, databases or policies.
"""
