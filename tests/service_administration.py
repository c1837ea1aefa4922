"""What operators ask, for the state machine of `service/test_machine.py`."""

import json
import secrets

from hypothesis import strategies as st
from hypothesis.stateful import rule

SCOPES = ("read", "decide", "admin")


class AdministrationRules:
    """Rules about tokens and whole projects; the machine has `post`, `get`, `name`, `model`."""

    def new_key(self):
        self.keys += 1
        return f"key-{self.keys}"

    def with_token(self, token, method, path, body=None):
        headers = {"authorization": f"Bearer {token}", "idempotency-key": secrets.token_hex(8)}
        return self.server.http.request(method, path, json=body, headers=headers).status_code

    @rule(archives=st.booleans())
    def archive(self, archives):
        model, what = self.model, "archive" if archives else "restore"
        answer = self.post(f"{self.path}/{what}", {}, self.new_key())
        assert answer.status_code == (409 if model.is_archived == archives else 200), answer.text
        model.is_archived = archives
        assert (self.get().json()["archived"] is not None) == archives

    @rule(name=st.sampled_from(["clinic", "hospital", "..", "a b", ""]))
    def rename(self, name):
        key, path = self.new_key(), f"{self.path}/rename"
        answer = self.post(path, {"name": name}, key)
        if name not in ("clinic", "hospital"):
            assert answer.status_code == 422
            return
        assert answer.status_code == (409 if name == self.name else 200), answer.text
        if answer.status_code == 200:
            before, self.name = self.name, name
            assert self.server.http.get(f"/v1/projects/{before}").status_code == 404
            assert self.post(f"/v1/projects/{before}/cases", {}, "other").status_code == 404
            assert self.post(path, {"name": name}, key).content == answer.content
            assert self.post(path, {"name": "third"}, key).status_code == 409

    @rule(scope=st.sampled_from(SCOPES), is_for_one=st.booleans(), rotates=st.booleans())
    def make_and_end_a_token(self, scope, is_for_one, rotates):
        body = {"scope": scope} | ({"project": self.name} if is_for_one else {})
        key = self.new_key()
        made = self.post("/v1/tokens", body, key)
        assert made.status_code == 201, made.text
        assert self.post("/v1/tokens", body, key).json() == made.json() | {"token": None}
        token, which = made.json()["token"], made.json()["id"]
        self.check_rights(token, scope, is_for_one)
        if rotates:
            rotated = self.post(f"/v1/tokens/{which}/rotate", {}, self.new_key()).json()
            assert self.with_token(token, "GET", self.path) == 401
            assert (rotated["scope"], rotated["project"]) == (scope, body.get("project"))
            token, which = rotated["token"], rotated["id"]
            self.check_rights(token, scope, is_for_one)
        assert self.post(f"/v1/tokens/{which}/revoke", {}, self.new_key()).status_code == 200
        assert self.with_token(token, "GET", self.path) == 401
        assert self.post(f"/v1/tokens/{which}/revoke", {}, self.new_key()).status_code == 404

    def check_rights(self, token, scope, is_for_one):
        assert self.with_token(token, "GET", self.path) == 200
        elsewhere = self.with_token(token, "GET", "/v1/projects/elsewhere")
        assert elsewhere == (403 if is_for_one else 404)
        cancelled = self.with_token(token, "POST", f"{self.path}/cases/{2**40}/cancel", {})
        absent = 409 if self.model.is_archived else 404
        assert cancelled == (403 if scope == "read" else absent)
        is_allowed = scope == "admin" and not is_for_one
        for path in (f"{self.path}/prices", f"{self.path}/clone", "/v1/tokens"):
            status = self.with_token(token, "POST", path, {"unknown": 1})
            assert status == (422 if is_allowed else 403)

    @rule(price=st.sampled_from([1.0, 0.0, 7.5, -1.0]), name=st.sampled_from(["ecg", "colour"]))
    def reprice(self, price, name):
        model, key, body = self.model, self.new_key(), {"prices": {name: price}}
        answer = self.post(f"{self.path}/prices", body, key)
        if price < 0 or name == "colour":
            assert answer.status_code == 422
        elif model.is_archived:
            assert answer.status_code == 409
        else:
            assert answer.status_code == 200, answer.text
            model.is_repriced = True
            shown = {o["name"]: o["cost"] for o in self.get().json()["problem"]["observations"]}
            assert shown["ecg"] == price
            asked = ("prices", 0, json.dumps(body))
            model.events[key] = {
                "asked": asked,
                "case": 0,
                "status": 200,
                "answer": answer.json(),
            }
            assert self.post(f"{self.path}/prices", body, key).json() == answer.json()

    @rule()
    def clone_and_delete(self):
        key, path = self.new_key(), f"{self.path}/clone"
        made = self.post(path, {"name": "copy"}, key)
        assert made.status_code == 201, made.text
        assert self.post(path, {"name": "copy"}, key).json() == made.json() | {"token": None}
        assert self.post(path, {"name": "copy"}, self.new_key()).status_code == 409
        assert (made.json()["cases"], made.json()["policy_version"]) == (0, 1)
        token = made.json()["token"]
        assert self.with_token(token, "POST", "/v1/projects/copy/cases", {}) == 201
        assert self.with_token(token, "POST", f"{self.path}/cases", {}) == 403
        wrong = self.post("/v1/projects/copy/delete", {"name": self.name}, self.new_key())
        assert wrong.status_code == 422
        key = self.new_key()
        gone = self.post("/v1/projects/copy/delete", {"name": "copy"}, key)
        assert (gone.status_code, gone.json()) == (200, {"name": "copy", "events": 1})
        assert self.post("/v1/projects/copy/delete", {"name": "copy"}, key).json() == gone.json()
        assert self.server.http.get("/v1/projects/copy").status_code == 404
        assert self.with_token(token, "GET", "/v1/projects/copy") == 401

    @rule(data=st.data())
    def erase(self, data):
        model = self.model
        number = data.draw(st.integers(1, len(model.cases) + 1), "case to erase")
        key, path = self.new_key(), f"{self.path}/cases/{number}/erase"
        expected = model.erases(number)
        answer = self.post(path, {}, key)
        assert answer.status_code == expected, answer.text
        if expected == 200:
            blanked = model.erase(number)
            assert answer.json() == {"case": number, "events": blanked}
            model.events[key] = {
                "asked": ("erase", 0, json.dumps({"case": number})),
                "case": 0,
                "status": 200,
                "answer": answer.json(),
            }
            assert self.post(path, {}, key).content == answer.content
            assert self.server.http.get(f"{self.path}/cases/{number}").status_code == 410
        assert self.get("/alarms").json() == {"alarms": []}
