"""A second project for the state machine of `service/test_machine.py`, with the default learner.

It explores, forgets and keeps to a budget, so what it wants is not foreseen. What must hold is: a
case wants what it does not know yet, after what that requires; costs and sums are exact; a key is
answered once. The rules on versions of a problem, on tokens that end and on saved learners are
here, too.
"""

import base64
import functools
import json
from typing import ClassVar

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import rule

import askwise as aw
from service_model import PROBLEM
from waiting import until

VALUES = {"pulse": ["slow", "fast"], "blood": ["low", "high"], "culture": ["neg", "pos"]}
WARD = aw.Problem(
    observations=[
        aw.Observation("pulse", values=VALUES["pulse"], cost=0.5),
        aw.Observation("blood", values=VALUES["blood"], cost=2.0, requires=["pulse"]),
        aw.Observation("culture", values=VALUES["culture"], cost=4.0, requires=["blood"]),
    ],
    actions=["wait", aw.Action("treat", cost=1.0), aw.Action("operate", requires=["culture"])],
    reward_value=64.0,
)
PRICES = {o.name: o.cost for o in WARD.observations}
REQUIRES = {o.name: set(o.requires) for o in WARD.observations}
LEARNER = {"name": "learner", "options": {"window": 16, "budget": {"spend_per_case": 3.0}}}
PATH = "/v1/projects/ward"


def version(**changes):
    """The problem of the first project with some fields changed, as JSON."""
    return msgspec.to_builtins(msgspec.structs.replace(PROBLEM, **changes))


def with_requirement():
    ecg, mri, scan = PROBLEM.observations
    return version(observations=(ecg, mri, msgspec.structs.replace(scan, requires=["mri"])))


VERSIONS = {
    "an action more": (version(actions=("wait", "treat", "operate")), 201),
    "a requirement more": (with_requirement(), 201),
    "an action less": (version(actions=("wait",)), 422),
    "another value of a reward": (version(reward_value=50.0), 422),
}


@functools.cache
def saved_learner():
    """The bytes of a learner that has seen a few cases."""
    learner = aw.Learner(WARD, rng=1)
    for k in range(8):
        case = learner.open()
        while case.wanted:
            case.observe({name: VALUES[name][k % 2] for name in case.wanted})
        case.reward(k % 2 / 2)
    return learner.to_bytes()


class WardRules:
    """Rules about the second project; the machine has `post`, `server`, `path`, `model`."""

    ended: ClassVar[list] = []
    """Tokens that were seen to end, in all runs: each takes a second."""

    def begin_ward(self):
        self.ward, self.ward_answers, self.ward_keys = {}, {}, 0
        body = {"name": "ward", "problem": msgspec.to_builtins(WARD), "learner": LEARNER}
        assert self.post("/v1/projects", body, "create-ward").status_code == 201

    def ward_key(self):
        """A key of its own count: how many there are depends on what the learner explores."""
        self.ward_keys += 1
        return f"ward-{self.ward_keys}"

    def ask_ward(self, path, body, status):
        key = self.ward_key()
        answer = self.post(PATH + path, body, key)
        assert answer.status_code == status, answer.text
        assert self.post(PATH + path, body, key).content == answer.content
        self.ward_answers[key] = answer.content
        return answer.json()

    @rule(
        shown=st.fixed_dictionaries({name: st.sampled_from(seen) for name, seen in VALUES.items()}),
        known=st.sampled_from([{}, {"pulse": "fast"}]),
        stake=st.sampled_from([1.0, 1.0, 4.0]),
        ends=st.sampled_from(["reward", "reward", "cancel", "act", "open"]),
    )
    def live_in_the_ward(self, shown, known, stake, ends):
        """A case of the second project, step by step; all is drawn before it is known what for."""
        case = self.ask_ward("/cases", {"known": known, "stake": stake}, 201)
        number, seen, cost = case["case"], dict(known), 0.0
        while case["wanted"]:
            for name in case["wanted"]:
                assert name not in seen
                assert REQUIRES[name] <= seen.keys() | set(case["wanted"])
            values = {name: shown[name] for name in case["wanted"]}
            seen |= values
            cost += sum(PRICES[name] for name in values)
            case = self.ask_ward(f"/cases/{number}/observations", {"values": values}, 200)
        assert case["action"] != "operate" or "culture" in seen
        self.end_in_the_ward(number, stake, ends, case["action"], cost)

    def end_in_the_ward(self, number, stake, ends, action, cost):
        reward, path = None, f"/cases/{number}"
        if ends == "act":
            self.ask_ward(f"{path}/acted", {"action": "wait"}, 200)
            action = "wait"
        if ends == "cancel":
            self.ask_ward(f"{path}/cancel", {}, 200)
        elif ends in ("reward", "act"):
            reward = number % 9 / 8
            self.ask_ward(f"{path}/reward", {"reward": reward}, 200)
        cost += 1.0 if action == "treat" else 0.0
        self.ward[number] = stake * (reward or 0.0), cost
        found = self.server.http.get(f"{PATH}/summary").json()
        earned, spent = (sum(amounts) for amounts in zip(*self.ward.values(), strict=True))
        assert (found["cases"], found["reward"], found["spend"]) == (len(self.ward), earned, spent)

    @rule(which=st.sampled_from(sorted(VERSIONS)))
    def clone_with_another_problem(self, which):
        problem, status = VERSIONS[which]
        key, path = self.ward_key(), f"{self.path}/clone"
        asked = {"name": "version", "problem": problem}
        made = self.post(path, asked, key)
        if self.model.is_repriced and status == 201:
            status = made.status_code  # its prices are the new ones
        assert made.status_code == status, made.text
        if status == 201:
            shown = msgspec.convert(made.json()["problem"], aw.Problem)
            assert shown == msgspec.convert(problem, aw.Problem)
            answer = self.post("/v1/projects/version/cases", {}, self.ward_key())
            assert answer.status_code == 201, answer.text
            gone = self.post("/v1/projects/version/delete", {"name": "version"}, self.ward_key())
            assert gone.json() == {"name": "version", "events": 1}
            assert self.post(path, asked, key).json() == made.json() | {"token": None}

    @rule()
    def expire(self):
        """A token ends by itself, and is not brought back."""
        if len(self.ended) >= 2:
            return
        made = self.post("/v1/tokens", {"scope": "read", "expires_in": 1}, self.ward_key()).json()
        until(lambda: self.with_token(made["token"], "GET", PATH) == 401)
        rotated = self.post(f"/v1/tokens/{made['id']}/rotate", {}, self.ward_key())
        assert rotated.status_code == 404
        self.ended.append(made["id"])

    @rule(rate=st.integers(1, 3))
    def exceed_a_rate(self, rate):
        body = {"scope": "read", "rate": rate, "project": "ward"}
        made = self.post("/v1/tokens", body, self.ward_key()).json()
        statuses = [self.with_token(made["token"], "GET", PATH) for _ in range(rate + 1)]
        assert statuses == [200] * rate + [429]

    @rule(is_damaged=st.booleans())
    def start_warm(self, is_damaged):
        saved = saved_learner()[:-9] if is_damaged else saved_learner()
        body = {"name": "warm", "saved": base64.b64encode(saved).decode()}
        key = self.ward_key()
        made = self.post("/v1/projects", body, key)
        assert made.status_code == (422 if is_damaged else 201), made.text
        if is_damaged:
            return
        assert msgspec.convert(made.json()["problem"], aw.Problem) == WARD
        assert self.post("/v1/projects", body, key).json() == made.json() | {"token": None}
        opened = self.post("/v1/projects/warm/cases", {}, self.ward_key())
        assert opened.status_code == 201, opened.text
        gone = self.post("/v1/projects/warm/delete", {"name": "warm"}, self.ward_key())
        assert gone.status_code == 200

    def check_ward(self):
        """The events of the second project are the accepted requests, and no more."""
        text = self.server.http.get(f"{PATH}/events").text
        lines = [json.loads(line) for line in text.splitlines()]
        written = {line["key"]: line["answer"] for line in lines if line["kind"] != "forget"}
        assert written == {key: json.loads(answer) for key, answer in self.ward_answers.items()}
