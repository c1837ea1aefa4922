"""The service over HTTP against plain dictionaries: whatever is asked, in any order, both agree.

The model knows the rules of a case's life, not the library: which requests are refused and why,
what a case still wants, what it cost, and what was answered to which key. It does not know which
action is best; it takes that from the answer that first says it, and expects it from then on.
"""

import json
import os
import tempfile
from pathlib import Path

import msgspec
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from askwise.service.decisions.replay import verify
from askwise.service.ledger import open_ledger
from askwise.service.replanning.replanner import Replanner
from service_administration import AdministrationRules
from service_model import (
    LEARNER,
    OUTCOMES,
    PLACES,
    PROBLEM,
    Model,
    as_asked,
)
from service_reads import ReadRules, never_asked
from service_ward import WardRules
from serving import served

FOLDER = os.environ.get("PYTEST_DEBUG_TEMPROOT")

eighths = st.integers(0, 8).map(lambda k: k / 8)
"""Their sums are exact."""

all_values = st.fixed_dictionaries({name: st.sampled_from(seen) for name, seen in OUTCOMES.items()})
values_of = st.fixed_dictionaries(
    {}, optional={name: st.sampled_from(seen) for name, seen in OUTCOMES.items()}
)
wrong = st.sampled_from(
    [{"colour": "red"}, {"mri": "purple"}, {"ecg": None}, {"ecg": "good", "scan": "d"}, {"mri": 7}]
)
rewards = st.fixed_dictionaries(
    {"reward": st.one_of(eighths, eighths, st.sampled_from([-0.5, 1.5]))},
    optional={"default": st.just(True), "replaces": st.just(True)},
)

terms = st.fixed_dictionaries(
    {},
    optional={
        "stake": st.sampled_from([0.125, 8.0, 4096.0]),
        "prices": st.sampled_from([{"mri": 0.5}, {"ecg": 0.0, "scan": 64.0}, {"colour": 1.0}]),
    },
)
acts = st.fixed_dictionaries(
    {"action": st.sampled_from(["wait", "treat", "treat", "operate"])},
    optional={"knew_more": st.just(False)},
)
afterwards = st.lists(
    st.one_of(
        st.tuples(st.just("reward"), eighths.map(lambda reward: {"reward": reward})),
        st.tuples(
            st.just("reward"),
            eighths.map(lambda k: {"reward": k, "default" if k < 0.5 else "replaces": True}),
        ),
        st.tuples(st.just("reward"), rewards),
        st.tuples(st.just("act"), acts),
        st.tuples(st.just("cancel"), st.just({})),
        st.tuples(
            st.just("observe"), all_values.map(lambda seen: {"values": seen, "unasked": True})
        ),
    ),
    min_size=1,
    max_size=5,
)


class ServiceMachine(AdministrationRules, WardRules, ReadRules, RuleBasedStateMachine):
    """Requests, alone and in batches, and restarts."""

    @initialize()
    def begin(self):
        self.folder = tempfile.TemporaryDirectory(prefix="askwise", dir=FOLDER)
        self.db = str(Path(self.folder.name) / "ledger.db")
        self.model, self.keys, self.restarts = Model(), 0, 0
        self.name = "clinic"
        self.start()
        body = {"name": "clinic", "problem": msgspec.to_builtins(PROBLEM), "learner": LEARNER}
        assert self.post("/v1/projects", body, "create").status_code == 201
        self.begin_ward()

    def start(self):
        self.serving = served(self.db)
        self.server = self.serving.__enter__()
        self.server.http.headers["authorization"] = f"Bearer {self.server.token}"
        self.server.http.event_hooks["response"].append(self.note)

    def stop(self):
        self.serving.__exit__(None, None, None)

    @property
    def path(self):
        return f"/v1/projects/{self.name}"

    def post(self, path, body, key):
        return self.server.http.post(path, json=body, headers={"idempotency-key": key})

    def get(self, path=""):
        answer = self.server.http.get(self.path + path)
        assert answer.status_code == 200, answer.text
        return answer

    # --- what is asked ---------------------------------------------------------------------------

    def some_request(self, data):
        """A key, mostly a new one; then kind, case, body."""
        model = self.model
        self.keys += 1
        key = f"key-{self.keys}"
        if self.keys > 1 and data.draw(st.integers(0, 3), "is the key old?") == 0:
            key = f"key-{data.draw(st.integers(1, self.keys - 1), 'old key')}"
            is_about_case = key in model.events and model.events[key]["asked"][0] in (
                *PLACES,
                "open",
            )
            if is_about_case and data.draw(st.booleans(), "is the request the same?"):
                kind, number, body = model.events[key]["asked"]
                if number and data.draw(st.booleans(), "but of another case?"):
                    number = number % len(model.cases) + 1
                return key, kind, number, json.loads(body)
        kinds = ["open", *["observe"] * 4, *["reward"] * 2, "act", "cancel"]
        few = len(model.cases) < 3 and data.draw(st.integers(0, 3), "are there few cases?") > 0
        kind = "open" if few else data.draw(st.sampled_from(kinds))
        if kind == "open":
            known = data.draw(st.one_of(st.none(), values_of, all_values, wrong))
            return key, kind, 0, ({} if known is None else {"known": known}) | data.draw(terms)
        most = max(1, len(model.cases) + (data.draw(st.integers(0, 7), "is there one?") == 0))
        number = data.draw(st.integers(1, most), "case")
        if kind == "observe":
            return key, kind, number, self.some_look(data, number)
        body = {"reward": rewards, "act": acts}.get(kind)
        return key, kind, number, {} if body is None else data.draw(body)

    def some_look(self, data, number):
        case = self.model.cases.get(number)
        values = data.draw(st.one_of(values_of, values_of, wrong))
        if case is not None and case.wanted and data.draw(st.integers(0, 3), "is it wrong?"):
            some = st.lists(st.sampled_from(case.wanted), min_size=1, unique=True)
            names = data.draw(st.just(case.wanted) | some)
            values = {name: data.draw(st.sampled_from(OUTCOMES[name])) for name in names}
        body = {"values": values}
        if data.draw(st.integers(0, 3), "is the price said?") == 0:
            name = data.draw(st.sampled_from([*(values or ["mri"]), "ecg"]))
            body["paid"] = {name: data.draw(st.sampled_from([0.0, 0.25, 4.5, -1.0]))}
        if data.draw(st.integers(0, 3), "was it not asked for?") == 0:
            body["unasked"] = True
        return body | ({"knew_more": False} if data.draw(st.booleans(), "knew no more?") else {})

    @rule(data=st.data(), times=st.integers(1, 8))
    def ask(self, data, times):
        for _ in range(times):
            self.ask_one(*self.some_request(data))

    def ask_one(self, key, kind, number, body):
        path = f"{self.path}/cases" + (f"/{number}/{PLACES[kind]}" if kind != "open" else "")
        answer = self.post(path, body, key)
        self.agree(key, kind, number, body, answer.status_code, answer.json())
        self.check_stories({number or len(self.model.cases)})

    @rule(data=st.data(), values=all_values, known=values_of, terms=terms, after=afterwards)
    def live(self, data, values, known, terms, after):
        """A case from its opening to its action, and some of what may come then."""
        before = len(self.model.cases)
        self.ask_one(self.new_key(), "open", 0, {"known": known} | terms)
        if len(self.model.cases) == before:
            return  # it was refused
        case = self.model.cases[before + 1]
        while case.wanted and case.status == "observing":
            wanted = case.wanted if data.draw(st.booleans(), "all at once?") else case.wanted[:1]
            seen = {name: values[name] for name in wanted}
            is_told = data.draw(st.integers(0, 3), "is the price said?") == 0
            paid = {"paid": {wanted[0]: 0.25}} if is_told else {}
            self.ask_one(self.new_key(), "observe", case.number, {"values": seen} | paid)
        for kind, body in after:
            key = self.new_key()
            self.ask_one(key, kind, case.number, body)
            if data.draw(st.booleans(), "once more?"):
                self.ask_one(key, kind, case.number, body)

    @rule(data=st.data(), size=st.integers(1, 6))
    def ask_many(self, data, size):
        """Drawn one by one, before any of them is decided, so some will find things changed."""
        asked, items = [], []
        for _ in range(size):
            key, kind, number, body = request = self.some_request(data)
            asked.append(request)
            place = PLACES.get(kind, kind)
            items.append({"key": key, place: body} | ({"case": number} if kind != "open" else {}))
        if items:
            answers = self.post(f"{self.path}/batch", items, "unused")
            assert answers.status_code == 200, answers.text
            for request, got in zip(asked, answers.json(), strict=True):
                self.agree(*request, got["status"], got.get("answer") or got["problem"])
            self.check_stories({number for _, _, number, _ in asked})

    def check_stories(self, numbers):
        for number in numbers & set(self.model.cases) - self.model.erased:
            expected = self.model.cases[number].story()
            story = self.get(f"/cases/{number}").json()
            assert {name: story[name] for name in expected} == expected

    def agree(self, key, kind, number, body, status, answer):
        model, is_new = self.model, key not in self.model.events
        expected = model.expects(key, kind, number, body)
        assert status == expected, (key, kind, number, body, answer)
        if status >= 300:
            assert answer["status"] == status
            assert answer["detail"]
            return
        if not is_new:
            assert answer == model.events[key]["answer"]
            return
        number = number or len(model.cases)
        case, likely = model.cases[number], answer.pop("propensity", None)
        says_action = case.action is None and case.has_acted
        if says_action:
            case.action = case.advised = answer["action"]
            assert case.action in PROBLEM.action_names
        assert answer == case.view(), (kind, body, answer, case.view())
        assert (likely is not None) == says_action
        if likely is not None:
            answer["propensity"] = likely
        asked = as_asked(kind, 0 if kind == "open" else number, body)
        model.events[key] = {"asked": asked, "case": number, "status": status, "answer": answer}

    @rule(
        asked=st.sampled_from(
            [
                ("/cases", b"{"),
                ("/cases", b'{"known": {}, "extra": 1}'),
                ("/cases/1/reward", b'{"reward": true}'),
                ("/cases/1/cancel", b"[]"),
                ("/cases/1/acted", b'{"action": 1}'),
                ("/cases", b'{"stake": 0}'),
                ("/cases", b'{"stake": 1e10}'),
                ("/cases", b'{"prices": {"mri": "dear"}}'),
                ("/cases/1/observations", b"{}"),
                ("/cases/0/cancel", b"{}"),
                ("/batch", b"[]"),
                ("/batch", b'[{"key": "key-x", "open": {}}, {"key": "key-y"}]'),
                ("/batch", b'[{"key": "key-x", "open": {}}, {"key": "y", "case": 1, "open": {}}]'),
            ]
        )
    )
    def ask_badly(self, asked):
        path, content = asked
        answer = self.server.http.post(
            self.path + path, content=content, headers={"idempotency-key": "bad"}
        )
        assert 400 <= answer.status_code < 500, answer.text

    @precondition(lambda self: self.restarts < 2 and self.model.events)
    @rule(replans=st.booleans())
    def restart(self, replans):
        """Cases go on under the policy that they were opened under; new ones follow a new one."""
        # the model knows no other prices
        replans = replans and not (self.model.is_repriced or self.model.is_price_told)
        self.restarts += 1
        self.stop()
        if replans:
            ledger = open_ledger(self.db)
            Replanner(ledger).step()
            self.model.version = ledger.project(self.name).version
            ledger.close()
        self.start()

    # --- what must be true -----------------------------------------------------------------------

    @invariant()
    def the_summary_is_what_happened(self):
        found, model = self.get("/summary").json(), self.model
        expected = model.summary()
        assert {name: found[name] for name in expected} == expected
        for what, total in model.totals().items():
            for rows in (found["days"], found["blocks"]):
                if rows and what in rows[0]:
                    assert sum(row[what] for row in rows) == total, what
        project = self.get().json()
        assert (project["events"], project["cases"]) == (len(model.events), len(model.cases))

    def teardown(self):
        if not hasattr(self, "server"):
            return
        try:
            self.check_all()
            self.check_ward()
            self.read_unasked()
        finally:
            self.stop()
            self.folder.cleanup()

    def check_all(self):
        """The events are the accepted requests in their order, and all else follows from them."""
        lines = [json.loads(line) for line in self.get("/events").text.splitlines()]
        assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
        written = {
            f"erased {line['seq']}" if line["key"].startswith("erased ") else line["key"]: {
                "asked": (line["kind"], 0 if line["kind"] == "open" else line["case"] or 0),
                "body": line["body"],
                "rest": (line["case"] or 0, line["status"], line["answer"]),
            }
            for line in lines
        }
        expected = {
            key: {
                "asked": event["asked"][:2],
                "body": json.loads(event["asked"][2]),
                "rest": (event["case"], event["status"], event["answer"]),
            }
            for key, event in self.model.events.items()
        }
        assert list(written.items()) == list(expected.items())
        newest = [story["case"] for story in self.get("/cases?limit=500").json()["cases"]]
        assert newest == sorted(set(self.model.cases) - self.model.erased, reverse=True)
        self.check_stories(set(newest))
        ledger = open_ledger(self.db)
        for project in ledger.projects():
            assert verify(ledger, project.name).differences == []
        ledger.close()


SHORT = settings(
    max_examples=12,
    stateful_step_count=36,
    phases=[Phase.generate],  # to make a failure shorter would take minutes of starting servers
)


def test_whatever_is_asked_the_service_and_the_dictionaries_agree():
    run_state_machine_as_test(ServiceMachine, settings=SHORT)
    assert never_asked() == []
    assert max(ReadRules.answered) < 500
