"""The PostgreSQL that the tests start: what it needs of the machine."""

import os
import pwd
import shutil

import pytest

from chaos.databases import USER, useradd_at_hand


@pytest.fixture(name="root")
def root_fixture(monkeypatch):
    """As root, where the system user was never made."""

    def getpwnam(name):
        raise KeyError(name)

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(pwd, "getpwnam", getpwnam)


def test_useradd_is_found_where_the_path_of_root_does_not_lead(root, tmp_path, monkeypatch):
    tool = tmp_path / "useradd"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("chaos.databases.SYSTEM", (str(tmp_path),))
    with useradd_at_hand():
        assert shutil.which("useradd") == str(tool)
    assert os.environ["PATH"] == "/nowhere"


def test_a_machine_without_useradd_is_told_what_is_missing(root, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("chaos.databases.SYSTEM", ())
    missing = f"no system user '{USER}'.* useradd .*ordinary user"
    with pytest.raises(RuntimeError, match=missing), useradd_at_hand():
        pass


def test_nothing_is_needed_where_the_user_is_there_or_is_not_root(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("chaos.databases.SYSTEM", ())
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with useradd_at_hand():
        assert os.environ["PATH"] == str(tmp_path)
