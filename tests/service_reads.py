"""What is read over HTTP, against the dictionaries, for the state machine of `test_machine.py`.

Every request of the machine that succeeds is noted by the call of the table that it is, so that a
call which was never asked can be named.
"""

import time
from collections import Counter
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import rule

from askwise.service.api.calls import CALLS
from askwise.service.http.requests import Request
from askwise.service.http.routing import Router
from askwise.service.ledger import open_ledger
from askwise.service.tokens import new_link
from service_model import OUTCOMES

ROUTER = Router(CALLS, lambda handler: handler.partition(".")[2])
LIFE = {"case", "observe", "act", "reward", "cancel", "erase", "archive", "restore", "reprice"}
"""Calls that luck may not come to."""

TABLE = "ecg,scan,best\n" + "good,a,wait\nbad,b,treat\n" * 20


class ReadRules:
    """Rules that change nothing; the machine has `get`, `post`, `name`, `model`."""

    asked: ClassVar[Counter] = Counter()
    """How often each call was answered as asked, in all runs of this process."""
    answered: ClassVar[Counter] = Counter()
    """How often each status was answered."""

    def note(self, response):
        request = response.request
        self.answered[response.status_code] += 1
        if response.status_code < 300:
            path = request.url.raw_path.decode().partition("?")[0]
            route, _ = ROUTER.find(Request(request.method, path, "", {}))
            self.asked[route.handler] += 1

    @rule(what=st.sampled_from(["token", "projects", "awaited", "versions", "policy", "live"]))
    def read(self, what):
        getattr(self, f"read_{what}")()

    def read_unasked(self):
        """Whatever luck did not come to, so that no read is left out."""
        for name in ("token", "projects", "awaited", "versions", "policy", "live", "worth"):
            if not self.asked[name]:
                getattr(self, f"read_{name}")()
        if not self.asked["tokens"]:
            self.read_tokens()
        if not self.asked["sign_in"]:
            self.sign_in()
        if not self.asked["fit"]:
            self.use_a_table()
        if set(never_asked()) & LIFE:
            self.live_a_life()

    def live_a_life(self):
        """A case from its opening to its erasure, and one that is cancelled; after all else."""

        def done(path, body, status=200):
            answer = self.post(self.path + path, body, self.new_key())
            assert answer.status_code == status, answer.text
            return answer.json()

        if not self.model.is_archived:
            done("/archive", {})
        done("/restore", {})
        done("/prices", {"prices": {"ecg": 1.0}})
        number = done("/cases", {}, 201)["case"]
        values = {name: seen[0] for name, seen in OUTCOMES.items()}
        advised = done(f"/cases/{number}/observations", {"values": values})["action"]
        other = "treat" if advised == "wait" else "wait"
        assert done(f"/cases/{number}/acted", {"action": other})["action"] == other
        done(f"/cases/{number}/reward", {"reward": 0.5})
        story = self.get(f"/cases/{number}").json()
        assert (story["known"], story["reward"], story["overruled"]) == (values, 0.5, True)
        assert done(f"/cases/{number}/erase", {}) == {"case": number, "events": 4}
        number = done("/cases", {}, 201)["case"]
        assert done(f"/cases/{number}/cancel", {})["wanted"] == []

    def read_token(self):
        assert self.server.http.get("/v1/token").json() == {"scope": "admin", "project": None}

    def read_projects(self):
        names = [p["name"] for p in self.server.http.get("/v1/projects").json()["projects"]]
        assert names == [self.name, "ward"]

    def read_awaited(self):
        waiting = [n for n, case in self.model.cases.items() if case.status == "acted"]
        found = self.get("/awaited?limit=3").json()["cases"]
        assert [story["case"] for story in found] == waiting[:3]

    def read_versions(self):
        found = self.get(f"/versions?limit=200&before={int(time.time()) + 60}").json()["versions"]
        assert [v["version"] for v in found] == list(range(self.model.version, 0, -1))
        assert not any(v["is_thinned"] for v in found)

    def read_policy(self):
        for version in {1, self.model.version}:
            assert self.get(f"/policy?version={version}").json()["policy_version"] == version
        absent = f"{self.path}/policy?version={self.model.version + 1}"
        assert self.server.http.get(absent).status_code == 400

    def read_worth(self):
        found = {o["name"]: o["bought"] for o in self.get("/worth").json()["observations"]}
        assert found == self.model.summary()["bought"]

    def read_live(self):
        with self.server.http.stream("GET", f"{self.path}/live") as stream:
            assert stream.status_code == 200
            first = next(stream.iter_lines())
        assert first.startswith("data: {")

    def read_tokens(self):
        """The link and the token that it was changed for are there, and not what they are."""
        tokens = self.server.http.get("/v1/tokens").json()["tokens"]
        assert [t["token"] for t in tokens] == [None] * len(tokens)
        assert any(t["scope"] == "admin" and t["revoked"] is None for t in tokens)

    def sign_in(self):
        text, kept = new_link()
        ledger = open_ledger(self.db)
        ledger.add_token(kept)
        ledger.close()
        headers = {"authorization": f"Bearer {text}"}
        made = self.server.http.post("/v1/sign-in", json={}, headers=headers)
        assert made.status_code == 201, made.text
        assert self.with_token(made.json()["token"], "GET", self.path) == 200
        again = self.server.http.post("/v1/sign-in", json={}, headers=headers)
        assert again.status_code == 401
        assert self.with_token(text, "GET", self.path) in (401, 403)

    def use_a_table(self):
        http = self.server.http
        drafted = http.post("/v1/draft", json={"table": TABLE, "label": "best"}).json()
        assert [o["name"] for o in drafted["problem"]["observations"]] == list(OUTCOMES)[::2]
        body = {"table": TABLE, "label": "best", "problem": drafted["problem"]}
        found = http.post("/v1/fit", json=body).json()
        assert found["rows"] == 40
        assert http.post("/v1/fit", json={**body, "label": "colour"}).status_code == 422


def never_asked():
    """The calls of the table that no request of the machine has come to."""
    return sorted({call.name for call in CALLS} - set(ReadRules.asked))
