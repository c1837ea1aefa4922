"""`askwise doctor` says what is there, and changes nothing."""

import http.server
import socket
import threading
from importlib import metadata

import apsw
import pytest
from typer.testing import CliRunner

import askwise as aw
from askwise.cli import app, doctor, kernels
from askwise.service.ledger.schema import NEWEST, STEPS
from askwise.service.ledger.sqlite import DIALECT


def run(*arguments):
    return CliRunner().invoke(app, ["doctor", *arguments], env={"COLUMNS": "200", "NO_COLOR": "1"})


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


def test_what_is_installed_compiled_and_reachable(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("--port", str(free_port()))
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"askwise {aw.__version__}, Python ")
    for extra in doctor.EXTRAS:
        assert any(line.startswith(f"{extra} ") for line in lines)
    assert f"duckdb {metadata.version('duckdb')}" in result.stdout
    assert "are compiled and cached" in result.stdout
    assert "no service; the port is free" in result.stdout
    assert "askwise.db does not exist yet; `askwise serve` creates it" in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_every_extra_of_users_is_declared():
    declared = set(metadata.metadata("askwise").get_all("Provides-Extra"))
    assert declared - {"docs", "bench", "dev"} == set(doctor.EXTRAS)
    assert doctor.packages_of("report") == ["jinja2", "matplotlib"]


def test_what_is_missing_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(doctor, "packages_of", lambda _: ["numpy", "not-there"])
    said = doctor.extra_installed("report")
    assert said == "not installed: not-there; pip install 'askwise[report]'"


def test_kernels_are_counted_as_they_are_compiled(monkeypatch, tmp_path):
    found = kernels.kernels_on_disk()
    assert found.kernels >= found.compiled >= 0
    assert found.kernels > 50
    assert "__pycache__" in doctor.kernels_compiled()
    monkeypatch.setattr(kernels, "_index_of", lambda _: tmp_path / "index")
    assert "the first use of a learner compiles" in doctor.kernels_compiled()
    (tmp_path / "index").touch()
    assert f"{found.kernels} of {found.kernels} are compiled" in doctor.kernels_compiled()
    monkeypatch.setattr(kernels, "_index_of", lambda _: None)
    assert "NUMBA_CACHE_DIR" in doctor.kernels_compiled()


@pytest.mark.parametrize(
    ("status", "said"), [(200, "answers"), (503, "is not ready"), (404, "another program?")]
)
def test_what_answers_on_the_port(status, said):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        text = doctor.service_reachable("127.0.0.1", server.server_port)
        server.shutdown()
        thread.join()
    assert text.endswith(said)


def test_a_database_that_cannot_be_used_is_an_exit_code(tmp_path):
    (tmp_path / "text.db").write_text("this is no database", encoding="utf-8")
    for db, said in (
        (tmp_path / "text.db", "not a database"),
        (f"postgresql://clinic:secret@127.0.0.1:{free_port()}/askwise", "refused"),
    ):
        result = run("--db", str(db))
        assert result.exit_code == 1
        assert said in result.stdout
        assert "secret" not in result.stdout


def test_a_ledger_of_another_schema_is_told_by_its_version(tmp_path):
    db = str(tmp_path / "old.db")
    connection = apsw.Connection(db)
    for statement in STEPS[0]:
        connection.execute(statement.format(**DIALECT))
    for version, is_good, said in (
        (1, True, f"{db} answers; schema 1: upgraded at the next start"),
        (NEWEST + 1, False, f"{db}: schema {NEWEST + 1} is of a newer askwise: upgrade it here"),
    ):
        connection.pragma("user_version", version)
        assert doctor.database_reachable(db) == (is_good, said)
    connection.pragma("user_version", 0)
    is_good, said = doctor.database_reachable(db)
    assert (is_good, said.count(db)) == (False, 1)
    connection.close()


def test_a_database_with_a_project_names_it(tmp_path):
    problem = aw.Problem(
        observations=[aw.Observation("mri", values=["neg", "pos"], cost=1)],
        actions=["wait", "treat"],
    )
    aw.SeqOOS(problem).save(tmp_path / "clinic.askwise")
    db = str(tmp_path / "clinic.db")
    made = CliRunner().invoke(
        app, ["ledger", "create", "clinic", str(tmp_path / "clinic.askwise"), "--db", db]
    )
    assert made.exit_code == 0, made.output
    before = (tmp_path / "clinic.db").read_bytes()
    assert doctor.database_reachable(db) == (True, f"{db} answers; projects: clinic")
    assert (tmp_path / "clinic.db").read_bytes() == before
