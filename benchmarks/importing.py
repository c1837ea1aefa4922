"""How long `import askwise` takes, beside starting Python and importing NumPy.

    python benchmarks/importing.py [--check]

Each is a new process; the best of ten counts. Goal: under 0.3 s, Numba not imported.
"""

import subprocess
import sys
import time

GOAL = 0.3


def seconds(code: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - began


def main() -> int:
    lines = {"starting Python": "pass", "import numpy": "import numpy"}
    lines["import askwise"] = "import sys, askwise; assert 'numba' not in sys.modules"
    best = dict.fromkeys(lines, float("inf"))
    for _ in range(10):
        for name, code in lines.items():
            best[name] = min(best[name], seconds(code))
    start = best["starting Python"]
    for name, time_taken in best.items():
        print(f"{name:<16} {time_taken:.3f} s  ({time_taken / start:.1f}x starting Python)")
    own = best["import askwise"] - start
    print(f"askwise itself: {own:.3f} s, goal under {GOAL} s: {'met' if own < GOAL else 'MISSED'}")
    return int("--check" in sys.argv and own >= GOAL)


if __name__ == "__main__":
    sys.exit(main())
