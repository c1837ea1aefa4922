"""What tests of the dashboard do over HTTP: projects, cases, plans."""

import msgspec

from serving import PROBLEM


def create(ask, name, **changes):
    """A project whose learner leaves nothing to chance."""
    problem = msgspec.to_builtins(PROBLEM) | changes
    ask("/projects", {"name": name, "problem": problem, "learner": {"name": "seq-oos"}})


def decide(ask, project, cases):
    """Patients whose mammogram says all: high are treated well, low should wait."""
    for k in range(cases):
        shown = "high" if k % 2 else "low"
        case = ask(f"/projects/{project}/cases", {})
        while case["wanted"]:
            values = {n: shown if n == "mammogram" else "neg" for n in case["wanted"]}
            case = ask(f"/projects/{project}/cases/{case['case']}/observations", {"values": values})
        right = case["action"] == ("treat" if shown == "high" else "wait")
        ask(f"/projects/{project}/cases/{case['case']}/reward", {"reward": float(right)})


def learn(ask, replan, project):
    """Cases and plans, until the policy buys something."""
    for _ in range(30):
        decide(ask, project, 5)
        replan()
        if "buy" in ask(f"/projects/{project}/policy")["follows"]["tree"]:
            return
    raise AssertionError("it never buys")
