"""The state of one server process behind its HTTP handlers, and its health."""
