"""python -m soak: the service asked at length, by the state machine and by Schemathesis in turns.

Every answer is compared: with plain dictionaries, and with the OpenAPI document. In the end no
answer was a 5xx, a refusal has changed nothing, and replaying the events gives the same bits.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from service.api import test_openapi
from service.test_machine import ServiceMachine
from service_reads import ReadRules, never_asked

EXAMPLES = 20
"""Lives of a server between two turns of Schemathesis."""

CHECKS = (
    test_openapi.test_whatever_the_document_lets_one_ask_is_answered_as_it_says,
    test_openapi.test_an_answer_is_what_was_asked_for_or_a_refusal,
    test_openapi.test_what_was_accepted_is_written_in_order_and_what_was_refused_left_nothing,
)


def main() -> int:
    """0 once so many requests were answered as they should be; an error says what was not."""
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000, help="at least, in all")
    parser.add_argument("--seconds", type=float, default=6 * 3600, help="at most")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    explored: Counter[int] = Counter()
    end, turn = time.monotonic() + given.seconds, 0
    while ReadRules.answered.total() + explored.total() < given.requests:
        if time.monotonic() > end:
            print(f"{given.requests:,} requests were not reached in {given.seconds:,.0f} s")
            return 1
        turn += 1
        live_through()
        explored += explore(given.seed + turn)
        said = (
            f"{ReadRules.answered.total():,} of the machine, {explored.total():,} of Schemathesis"
        )
        print(f"turn {turn}: {said}", flush=True)
    statuses = ReadRules.answered + explored
    print("answers by status:", ", ".join(f"{s}: {n:,}" for s, n in sorted(statuses.items())))
    assert never_asked() == [], f"never asked: {never_asked()}"
    assert max(statuses) < 500
    print("every answer as it should be, nothing changed by a refusal, replay equal")
    return 0


def live_through() -> None:
    """Some lives of a server with the state machine."""
    long = settings(
        max_examples=EXAMPLES,
        stateful_step_count=60,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(ServiceMachine, settings=long)


def explore(seed: int) -> Counter[int]:
    """A turn of Schemathesis: its answers by status, all of them checked."""
    with tempfile.TemporaryDirectory(prefix="askwise-soak") as folder:
        run = test_openapi.explore(Path(folder), "--max-examples=60", f"--seed={seed}")
        for check in CHECKS:
            check(run)
    return Counter(request.status for request in run.requests)


if __name__ == "__main__":
    sys.exit(main())
