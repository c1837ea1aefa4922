"""The rules of a case's life over HTTP, in plain dictionaries, without the library."""

import json

import askwise as aw

OUTCOMES = {"ecg": ["good", "bad"], "mri": ["neg", "pos", None], "scan": ["a", "b", "c", None]}
PRICES = {"ecg": 1.0, "mri": 9.0, "scan": 2.5}
PROBLEM = aw.Problem(
    observations=[
        aw.Observation("ecg", values=["good", "bad"], cost=1.0),
        aw.Observation("mri", values=["neg", "pos"], cost=9.0, fails="refunded"),
        aw.Observation("scan", values=["a", "b", "c"], cost=2.5, fails="charged"),
    ],
    actions=["wait", "treat"],
    reward_value=100.0,
)
LEARNER = {"name": "fixed-set", "options": {"observations": list(OUTCOMES)}}
PLACES = {"observe": "observations", "act": "acted", "reward": "reward", "cancel": "cancel"}
STATUSES = ("observing", "acted", "defaulted", "rewarded", "cancelled")


class Case:
    """What must be true of one case."""

    def __init__(self, number, known, version, prices=None, stake=1.0):
        self.number, self.version = number, version
        self.prices, self.stake = PRICES | (prices or {}), stake
        self.known = {name: known[name] for name in OUTCOMES if name in known}
        self.paid = {}
        """Of what was bought, in order, what it cost."""
        self.action = self.reward = None
        self.advised = None
        """What was to be done, before people did something else."""
        self.is_stopped = False
        """Whether people acted while something was wanted."""
        self.unasked = []
        self.is_default = self.is_cancelled = False

    @property
    def wanted(self):
        if self.is_cancelled or self.is_stopped:
            return []
        return [name for name in OUTCOMES if name not in self.known]

    @property
    def has_acted(self):
        return self.is_stopped or len(self.known) == len(OUTCOMES)

    @property
    def is_overruled(self):
        return self.action != self.advised

    @property
    def status(self):
        if self.is_cancelled:
            return "cancelled"
        if self.reward is not None:
            return "defaulted" if self.is_default else "rewarded"
        return "acted" if self.has_acted else "observing"

    def view(self):
        return {
            "case": self.number,
            "wanted": self.wanted,
            "action": self.action,
            "cost": sum(self.paid.values()),
            "policy_version": self.version,
        }

    def story(self):
        return self.view() | {
            "status": self.status,
            "known": self.known,
            "path": list(self.paid),
            "reward": self.reward,
            "by_default": self.is_default,
            "stake": self.stake,
            "overruled": self.is_overruled,
        }

    # each of these says why it refuses, or changes the case

    def observe(self, values, paid=None, unasked=False, knew_more=True):
        if self.status != "observing" and not (unasked and self.status == "acted"):
            return 409
        paid = paid or {}
        takes = [name for name in OUTCOMES if name not in self.known] if unasked else self.wanted
        if not values or not all(name in takes for name in values) or not fits(values):
            return 422
        if not all(name in values and amount >= 0 for name, amount in paid.items()):
            return 422
        for name, value in values.items():
            is_free = name == "mri" and value is None
            self.paid[name] = 0.0 if is_free else paid.get(name, self.prices[name])
            if name not in self.wanted:
                self.unasked.append(name)
        known = self.known | values
        self.known = {name: known[name] for name in OUTCOMES if name in known}
        return 200

    def act(self, action, knew_more=True):
        if self.status not in ("observing", "acted"):
            return 409
        if action not in PROBLEM.action_names:
            return 422
        self.is_stopped |= self.status == "observing"
        self.action = action
        return 200

    def rewarded(self, reward, default=False, replaces=False):
        if (default and replaces) or not 0 <= reward <= 1:
            return 422
        if self.status in ("observing", "cancelled"):
            return 409
        if self.status == "rewarded":
            if not default and not replaces:
                return 409
            if default:
                return 200  # a default never takes the place of a reward that came
        self.reward, self.is_default = reward, default
        return 200

    def cancel(self):
        if self.status not in ("observing", "acted"):
            return 409
        self.is_cancelled = True
        return 200


def fits(values):
    return all(value in OUTCOMES.get(name, ()) for name, value in values.items())


class Model:
    """What must be true of a project."""

    def __init__(self):
        self.cases, self.events, self.version = {}, {}, 1
        """Events by their keys, in order: (kind, case or 0, body), the case, status and answer."""
        self.is_archived = self.is_repriced = False
        self.is_price_told = False
        """The next plan is for the mean of the prices that were said to be paid."""
        self.erased = set()
        self.erased_keys = set()

    def expects(self, key, kind, number, body):
        """The status that a request must get; what it changes is changed."""
        if key in self.events or key in self.erased_keys:
            return self.expects_again(key, kind, number, body)
        if self.is_archived or (kind != "open" and number not in self.cases):
            return 409 if self.is_archived else 404
        if number in self.erased:
            return 410
        if kind == "open":
            known, terms = body.get("known", {}), {n: x for n, x in body.items() if n != "known"}
            if not fits(known) or not all(n in PRICES for n in terms.get("prices", {})):
                return 422
            number = len(self.cases) + 1
            self.cases[number] = Case(number, known, self.version, **terms)
            return 201
        case = self.cases[number]
        steps = {"observe": case.observe, "act": case.act, "reward": case.rewarded}
        status = steps.get(kind, case.cancel)(**body)
        self.is_price_told |= status == 200 and bool(body.get("paid"))
        return status

    def expects_again(self, key, *asked):
        """The status that a request must get whose key was used before."""
        if key in self.erased_keys:
            return 410
        return self.events[key]["status"] if self.is_same(key, *asked) else 409

    def erases(self, number):
        """The status that erasing a case must get."""
        if number not in self.cases:
            return 404
        if number in self.erased:
            return 410
        return 409 if self.cases[number].status in ("observing", "acted") else 200

    def erase(self, number):
        """Blank the events of a case; how many they are."""
        self.erased.add(number)
        before, self.events = self.events, {}
        for seq, (key, event) in enumerate(before.items(), 1):
            if event["case"] == number:
                self.erased_keys.add(key)
                kind, case, _ = event["asked"]
                event |= {"asked": (kind, case, "null"), "answer": None}
            self.events[f"erased {seq}" if event["case"] == number else key] = event
        return sum(event["case"] == number for event in self.events.values())

    def is_same(self, key, *asked):
        return self.events[key]["asked"] == as_asked(*asked)

    def summary(self):
        cases = self.cases.values()
        reward = sum(case.stake * (case.reward or 0.0) for case in cases)
        spend = sum(sum(case.paid.values()) for case in cases)
        return {
            "cases": len(cases),
            "statuses": {s: sum(case.status == s for case in cases) for s in STATUSES},
            "reward": reward,
            "spend": spend,
            "gain": 100.0 * reward - spend,
            "bought": {name: sum(name in case.paid for case in cases) for name in OUTCOMES},
            "overruled": self.overruled(),
            "unasked": {
                name: n for name in OUTCOMES if (n := sum(name in c.unasked for c in cases))
            },
        }

    def overruled(self):
        rows = []
        for action in PROBLEM.action_names:
            cases = [c for c in self.cases.values() if c.is_overruled and c.action == action]
            got = [c.reward for c in cases if c.reward is not None]
            mean = sum(got) / len(got) if got else None
            if cases:
                row = {"cases": len(cases), "rewarded": len(got), "reward": mean}
                rows.append({"action": action} | row)
        return rows

    def totals(self):
        """What days and blocks add up to."""
        cases = self.cases.values()
        return {
            "opened": len(cases),
            "acted": sum(case.has_acted for case in cases),
            "rewarded": sum(case.reward is not None for case in cases),
            "cancelled": sum(case.is_cancelled for case in cases),
            "awaited": sum(case.status == "acted" for case in cases),
        }


def as_asked(kind, number, body):
    return kind, 0 if kind == "open" else number, json.dumps(body)
