"""Saved learners and exported projects that somebody made to do harm, or that were damaged."""

import base64
import functools
import hashlib
import json
import subprocess
import sys
import time

import numpy as np
import pytest

import askwise as aw
from altered_files import altered, claims, npy
from askwise.errors import AskwiseError, FileError, LedgerError, TooLargeError
from askwise.service.api.messages import Observing, Opening, Rewarding
from askwise.service.decisions.creation import load_learner
from askwise.service.decisions.writer import Writer
from askwise.service.ledger import open_ledger
from askwise.service.operations.export import export_project, import_file, import_project
from askwise.service.replanning.policy_versions import PolicyCache
from serving import ask, create, decoded


def problem(observations=2, values=2, m=None):
    return aw.Problem(
        observations=[
            aw.Observation(f"o{i}", values=[f"v{x}" for x in range(values)], cost=0.1)
            for i in range(observations)
        ],
        actions=["a", "b"],
        max_observations=m,
    )


@pytest.fixture(name="altered")
def altered_fixture(tmp_path):
    return functools.partial(altered, tmp_path)


def dense():
    learner = aw.SeqOOS(problem(), rng=0)
    case = learner.open()
    while case.wanted:
        case.observe(dict.fromkeys(case.wanted, "v0"))
    learner.open()
    return learner


def sparse():
    learner = aw.SeqOOS(problem(), rng=0, storage="sparse")
    learner.open()
    return learner


def tree():
    learner = aw.Learner(problem(), model="additive", rng=0)
    learner.open()
    return learner


SETS = {"kind": "sets beside a tree", "header": {"sets": 1, "replacing": 0.5, "beside": 0.0}}


def table_of(header):
    return header["policies"][0]["table"]["header"]


def explored(header):
    return header["policies"][0]["exploration"]["header"]


IMPOSSIBLE = [
    (dense, lambda h: h.update(rows=-1), "negative"),
    (dense, lambda h: h.update(rows=0), "the counters have 0 rows, expected 9"),
    (dense, lambda h: h.update(rows=10), "the counters have 10 rows, expected 9"),
    (sparse, lambda h: h.update(rows=-1), "negative"),
    (sparse, lambda h: h.update(rows=1), "the counters have 1 rows"),
    (sparse, lambda h: h.update(rows=2**40), "the counters have 1,099,511,627,776 rows"),
    (sparse, lambda h: h.update(rows=2**63), "more than 63 bits"),
    (dense, lambda h: h.update(lengths=[-1, 0]), "negative"),
    (dense, lambda h: h.update(round=-1), "negative"),
    (dense, lambda h: h.update(opened=2**64), "more than 63 bits"),
    (dense, lambda h: h.update(policies=h["policies"] * 9), "nobody follows"),
    (dense, lambda h: table_of(h).update(rows=-1), "a policy has -1 rows"),
    (tree, lambda h: table_of(h).update(nodes=10**9), "1000000000 nodes"),
    (tree, lambda h: table_of(h).update(nodes="9"), "9 nodes"),
    (tree, lambda h: table_of(h).clear(), "None nodes"),
    (dense, lambda h: h["policies"][0]["table"].update(kind="other"), "unknown kind of policy"),
    (dense, lambda h: h["policies"][0].update(exploration=SETS), "cannot explore"),
    (tree, lambda h: explored(h).update(sets=10**9), "1000000000 sets"),
    (dense, lambda h: h["cases"].append(h["cases"][0]), "two cases have one number"),
    (dense, lambda h: h["cases"][0].update(policy=-1), "follows a policy that is not there"),
    (dense, lambda h: h["cases"][0].update(path=[[0, 1], [0, 2]]), "steps that lead elsewhere"),
    (dense, lambda h: h["cases"][0].update(path=[[7, 1]]), "steps that lead elsewhere"),
    (dense, lambda h: h["options"].update(more="x" * 2**20), "longer than any"),
    (dense, lambda h: h["rng"].update(more="x" * 2**20), "longer than any"),
    (dense, lambda h: h["problem"].update(reward_value=1e300), "reward_value must be"),
]


@pytest.mark.parametrize("case", range(len(IMPOSSIBLE)))
def test_a_header_that_cannot_be_is_refused(altered, case):
    learner, change, message = IMPOSSIBLE[case]
    assert aw.load(altered(learner())).problem == problem()
    with pytest.raises(FileError, match=message) as refused:
        aw.load(altered(learner(), change))
    assert "altered.askwise" in str(refused.value)


def test_what_was_paid_must_be_possible(altered):
    for sums, counts in [([2**62, 0], [1, 0]), ([1, 0], [0, 0]), ([2**60, 0], [2, 0])]:
        arrays = {"paid_sums": npy(np.array(sums)), "paid_counts": npy(np.array(counts))}
        with pytest.raises(FileError, match="more was paid than can be"):
            aw.load(altered(dense(), **arrays))


MEGABYTE = bytes(1 << 20)
BOMB = 1500
"""Megabytes of zeros, which pack to one and a half."""

LIMITED = """
import resource, sys
import askwise as aw
from askwise.service.decisions.creation import load_learner
used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    {load}(sys.argv[1])
except aw.errors.AskwiseError as error:
    print(error)
else:
    raise SystemExit("it was loaded")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - used)
"""


def bombs():
    rows = BOMB << 17

    def big(dtype, shape):
        return [claims(shape, dtype), *[MEGABYTE] * BOMB]

    def states(header):
        header["rows"] = rows

    def nodes(header):
        header["policies"][0]["table"]["header"]["nodes"] = rows

    spaces = [b" " * (1 << 20)] * BOMB
    return {
        "header": (dense, lambda h: None, {"learner_json": spaces}),
        "counters": (dense, lambda h: None, {"visits": big(np.int64, (rows,))}),
        "rows": (
            lambda: aw.SeqOOS(problem(60, m=4), rng=0),
            states,
            {"states": big(np.int64, (rows,))},
        ),
        "nodes": (tree, nodes, {"policy0_look": big(np.int16, (rows,))}),
    }


@pytest.mark.parametrize("name", ["header", "counters", "rows", "nodes"])
def test_a_short_file_that_unpacks_to_much_takes_no_memory(altered, name):
    learner, change, members = bombs()[name]
    path = altered(learner(), change, **members)
    assert path.stat().st_size < 5_000_000
    program = LIMITED.format(load="aw.load")
    said = subprocess.run(
        [sys.executable, "-c", program, path], capture_output=True, text=True, check=True
    )
    error, taken = said.stdout.splitlines()
    assert "altered.askwise" in error
    assert int(taken) < 300_000  # kilobytes; the modules that are loaded meanwhile are most of it


def test_a_learner_that_is_too_large_to_be_served_is_refused_before_it_is_built(altered):
    """Its tables take gigabytes, though its file has a kilobyte."""

    def large(header):
        header["problem"] = json.loads(json.dumps(json.loads(LARGE)))

    path = altered(dense(), large)
    with pytest.raises(TooLargeError, match=r"altered\.askwise: 22 observations .* 4,194,304"):
        load_learner(path)
    said = subprocess.run(
        [sys.executable, "-c", LIMITED.format(load="load_learner"), path],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(said.stdout.splitlines()[1]) < 300_000


LARGE = json.dumps(
    {
        "observations": [{"name": f"o{i}", "values": ["v0", "v1"], "cost": 0.1} for i in range(22)],
        "actions": ["a", "b"],
    }
)


# --- imports -------------------------------------------------------------------------------------


@pytest.fixture(scope="module", name="lines")
def lines_fixture(tmp_path_factory):
    """A project as it is exported."""
    ledger = open_ledger(str(tmp_path_factory.mktemp("export") / "ledger.db"))
    writer = Writer(ledger, PolicyCache(ledger))
    create(writer)
    for _ in range(3):
        answer = decoded(ask(writer, Opening()))
        while answer["wanted"]:
            values = {n: {"mammogram": "low", "mri": "neg"}[n] for n in answer["wanted"]}
            answer = decoded(ask(writer, Observing(values), answer["case"]))
        ask(writer, Rewarding(0.5), answer["case"])
    lines = list(export_project(ledger, "clinic"))
    ledger.close()
    return lines


def sealed(lines):
    """With a last line that fits them."""
    kinds = [json.loads(line)["type"] for line in lines if line.startswith(b"{")]
    end = {"type": "end", "policies": kinds.count("policy"), "events": kinds.count("event")}
    end["sha256"] = hashlib.sha256(b"".join(lines)).hexdigest()
    return [*lines, json.dumps(end).encode() + b"\n"]


def changed(lines, place, **changes):
    line = json.loads(lines[place]) | changes
    return sealed([*lines[:place], json.dumps(line).encode() + b"\n", *lines[place + 1 : -1]])


def blob_of(learner, folder):
    learner.save(folder / "learner")
    return base64.b64encode((folder / "learner").read_bytes()).decode()


PROJECT, POLICY, OPENED = 0, 1, 2

REFUSED = {
    "a name of another kind": (PROJECT, {"name": "../etc"}, "line 1: .*regex"),
    "a name with a newline": (PROJECT, {"name": "clinic\n"}, "line 1: .*regex"),
    "no name": (PROJECT, {"name": ""}, "line 1: .*regex"),
    "a name that is a number": (PROJECT, {"name": 7}, "line 1: Expected `str`"),
    "an unknown learner": (PROJECT, {"learner": "magic"}, "unknown learner 'magic'"),
    "an unknown option": (PROJECT, {"options": {"colour": 1}}, "no option 'colour'"),
    "options that are a list": (PROJECT, {"options": [1]}, "line 1: Expected `object`"),
    "no problem": (PROJECT, {"problem": 3}, "line 1: Expected `object`"),
    "a problem that cannot be": (
        PROJECT,
        {"problem": {"observations": [], "actions": ["a"]}},
        "observations is empty",
    ),
    "too large a cost": (
        PROJECT,
        {
            "problem": {
                "observations": [{"name": "o", "values": ["v"], "cost": 1e14}],
                "actions": ["a"],
            }
        },
        "cost must be at most",
    ),
    "too large a problem": (PROJECT, {"problem": json.loads(LARGE)}, "4,194,304 subsets"),
    "a huge number": (PROJECT, {"seed": 2**64}, "line 1: .*int"),
    "a time before all": (PROJECT, {"created": -1}, "line 1: Expected `int` >= 0"),
    "a version that is not there": (PROJECT, {"version": 9}, "not the policy that it says"),
    "a watermark ahead": (PROJECT, {"watermark": 10**6}, "fewer events than its policy"),
    "another format": (PROJECT, {"format": 2}, "format 2, expected 1"),
    "more than is known": (PROJECT, {"more": 1}, "line 1: .*unknown field `more`"),
    "wrong base64": (POLICY, {"blob": "no base64!"}, "line 2: "),
    "no learner": (POLICY, {"blob": "AAAA"}, "not a saved learner"),
    "a policy's version": (POLICY, {"version": 2**70}, "line 2: .*int"),
    "a kind that is not known": (OPENED, {"kind": "steal"}, "line 3: .*'steal'"),
    "another body": (OPENED, {"body": {"known": 3}}, "refused when taken again"),
    "a body that is too deep": (OPENED, {"body": {"known": {"mri": [[]]}}}, "refused when taken"),
    "another answer": (OPENED, {"answer": 3}, "refused when taken again"),
    "a case out of order": (OPENED, {"case": 2}, "opens case 2, not 1"),
    "a case that is too large": (OPENED, {"case": 2**60}, "line 3: Expected `int` <= "),
    "no case": (OPENED, {"case": 0}, "event 1 is not one that could be"),
    "another status": (OPENED, {"status": 500}, "does not fit together"),
    "a key with a newline": (OPENED, {"key": "k\n"}, "line 3: .*regex"),
    "an event of a case that is not there": (3, {"case": 77}, "there is no case 77"),
}


@pytest.fixture(name="refuses")
def refuses_fixture(tmp_path):
    """Neither a new database nor one that was there has anything of it afterwards."""

    def refuses(lines, message):
        old = tmp_path / "old.db"
        open_ledger(str(old)).close()
        source = tmp_path / "lines"
        source.write_bytes(b"".join(lines))
        for db in (str(old), str(tmp_path / "new.db")):
            with pytest.raises(AskwiseError, match=message) as refused:
                import_file(db, source)
            assert "\n" not in str(refused.value)
        assert sorted(p.name for p in tmp_path.iterdir() if p.is_file()) == ["lines", "old.db"]
        ledger = open_ledger(str(old))
        assert ledger.projects() == []
        ledger.close()

    return refuses


@pytest.mark.parametrize("name", REFUSED)
def test_an_import_is_checked_as_strictly_as_a_request(refuses, lines, name):
    place, changes, message = REFUSED[name]
    refuses(changed(lines, place, **changes), message)


def test_other_files_are_no_projects(refuses, lines):
    for other, message in [
        ([], "does not begin with a project|cut off"),
        ([b"hello\n"], "line 1: "),
        ([b"\xff\xfe\x00\n"], "line 1: "),
        ([b"[]\n"], "line 1: "),
        ([b"null\n"], "line 1: "),
        ([b'{"type":"project"}\n'], "line 1: "),
        ([b"[" * 100_000 + b"\n"], "line 1: "),
        ([*lines[:1], b'{"type":"event","body":' + b"[" * 100_000 + b"\n"], "line 2: "),
        (lines[:-1], "cut off"),
        ([*lines[:-1], lines[-1][:20]], "line"),
        (sealed(lines[2:-1]), "does not begin with a project"),
        (sealed([lines[0], *lines[2:-1]]), "events before policies"),
        (sealed([lines[0], lines[1], *lines[1:-1]]), "two policies of version 1"),
        (sealed([*lines[:-1], lines[1]]), "a policy after events"),
        (sealed(lines[:3] + lines[4:-1]), "event 2 is missing"),
    ]:
        refuses(other, message)


def test_a_policy_of_another_problem_is_refused(refuses, lines, tmp_path_factory):
    folder = tmp_path_factory.mktemp("learner")
    other = aw.Learner(problem(3), rng=0)
    other.replan()
    refuses(changed(lines, POLICY, blob=blob_of(other, folder)), "is of another problem")
    large = aw.SeqOOS(problem(18), rng=0)
    refuses(changed(lines, POLICY, blob=blob_of(large, folder)), "a project that is served")


def test_what_is_exported_is_imported_into_a_new_file(tmp_path, lines):
    source = tmp_path / "lines"
    source.write_bytes(b"".join(lines))
    db = tmp_path / "new.db"
    name, _ = import_file(str(db), source)
    assert name == "clinic"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["lines", "new.db"]
    ledger = open_ledger(str(db))
    assert list(export_project(ledger, "clinic")) == lines
    with pytest.raises(LedgerError, match="already"):
        import_project(ledger, lines)
    ledger.close()


def test_the_command_says_one_line_and_leaves_no_file(tmp_path):
    bad = tmp_path / "bad"
    bad.write_bytes(b'{"type":"project","format":1,"name":"../x"}\n')
    command = [sys.executable, "-m", "askwise", "ledger", "import", bad]
    said = subprocess.run(
        [*command, "--db", tmp_path / "new.db"], capture_output=True, text=True, check=False
    )
    assert said.returncode == 1
    assert said.stderr.startswith("askwise: line 1: ")
    assert said.stderr.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir()] == ["bad"]


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 0.0, -1.0, 1e300, 1e-300])
def test_variances_of_effects_that_no_learner_draws_are_refused(altered, wrong):
    learner = aw.Learner(problem(), rng=0)
    learner.open()
    path = altered(learner, effect_variances=npy(np.full(4, wrong)))
    with pytest.raises(
        FileError, match=r"variances of effects|effect_variances holds what is not a number"
    ):
        aw.load(path)


def test_the_bytes_of_a_learner_do_not_depend_on_the_time_of_day(monkeypatch):
    learner = aw.Learner(problem(), rng=1)
    now = time.time()
    saved = [learner.to_bytes()]
    monkeypatch.setattr(time, "time", lambda: now + 100_000)
    saved.append(learner.to_bytes())
    assert saved[0] == saved[1]
