"""Addresses of databases: whatever is wrong with one, its password is not printed."""

import subprocess
import sys

import pytest

from askwise.errors import LedgerError
from askwise.service.ledger import open_ledger
from askwise.service.ledger.address import shown
from waiting import PATIENCE

SECRETS = ("hush", "quiet")
MISTYPED = [
    "postgresql://clinic:hush@localhost:notaport/askwise",
    "postgresql://clinic:hush%quiet@localhost/askwise",
    "postgresql://clinic:hush%00quiet@localhost/askwise",
    "postgresql://clinic:hush@quiet@localhost/askwise",
    "postgresql://clinic:hush/quiet@localhost/askwise",
    "postgresql://clinic:hush@quiet/quiet@localhost/askwise",
    "postgresql://clinic:hush?quiet@localhost/as%kwise",
    "postgresql://clinic:hush@[::1/askwise",
    "postgresql://clinic:hush@localhost/askwise?pasword=quiet",
    "postgresql://localhost/askwise?password=hush%quiet",
    "postgresql://clinic:hush",
    "postgresql//clinic:hush@localhost/askwise",
    "postgresql:/clinic:hush@localhost/askwise",
    "postgressql://clinic:hush@localhost/askwise",
    "mysql://clinic:hush@localhost/askwise",
    "host=localhost user=clinic password=hush",
    "postgresql://clinic:hush@127.0.0.1:1/askwise",  # nothing wrong, but nobody listens
    "postgresql://clinic:hush%40quiet@127.0.0.1:1/askwise",
]


@pytest.mark.parametrize("address", MISTYPED)
def test_a_mistyped_address_is_refused_without_its_password(address):
    with pytest.raises(LedgerError) as refused:
        open_ledger(address)
    error = refused.value
    while error is not None:  # the errors behind it are shown in tracebacks
        assert not any(secret in str(error) for secret in SECRETS), error
        error = error.__cause__
    assert "database" in str(refused.value)


@pytest.mark.parametrize(
    ("command", "address"),
    [
        (["serve"], MISTYPED[1]),
        (["token", "list"], MISTYPED[7]),
        (["ledger", "verify"], MISTYPED[13]),
    ],
)
def test_commands_do_not_print_it_either(command, address, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "askwise", *command, "--db", address],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 1
    said = done.stdout + done.stderr
    assert said.startswith("askwise: the address of the database ")
    assert said.count("\n") == 1
    assert "expected postgresql://user:password@host:port/database" in said
    assert not any(secret in said for secret in SECRETS)
    assert list(tmp_path.iterdir()) == []


def test_an_address_is_shown_without_its_password():
    assert shown("askwise.db") == "askwise.db"
    assert shown("postgresql://clinic@db/askwise") == "postgresql://clinic@db/askwise"
    assert shown("postgresql://clinic:hush@db:5/a") == "postgresql://clinic:***@db:5/a"
    assert shown("postgres://db/a?password=hush&x=1") == "postgres://db/a?password=***&x=1"
    assert shown("postgresql:///a?host=/tmp") == "postgresql:///a?host=/tmp"
