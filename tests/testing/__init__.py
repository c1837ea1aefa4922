"""The shipped conformance suites: every built-in passes, and what is broken does not."""
