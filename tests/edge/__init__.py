"""The HTTP edge as a stranger meets it: bytes over a socket, and what RFC 9110 and 9112 want back.

Every check names the section that it rests on. It knows nothing of the server but its address.
"""
