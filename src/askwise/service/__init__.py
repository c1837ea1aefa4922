"""`askwise serve`: the library's decisions over HTTP, each of them durable before it is answered.

No mathematics lives here. Requests become events in a ledger; what to buy, what to do and what to
count is asked of the library, with the policy that the case was opened under.
"""
