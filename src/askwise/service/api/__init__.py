"""The interface of the service: calls, messages, refusals, limits.

`calls.py` is the one table of calls. The routes, the OpenAPI document and the client are made from
it. Nothing here depends on sockets, databases or policies.
"""
