"""`python -m askwise`."""

from askwise.cli import main

main()
