import contextlib
import gc
import importlib
import os
import secrets
import sys
from pathlib import Path

# Several workers run the tests: threads of their own would wait for each other on busy processors.
# NumPy and scikit-learn read this when they are imported, in processes that tests start, too.
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import numba
import pytest
from hypothesis import settings

import askwise
import askwise._kernels

sys.path.insert(0, str(Path(__file__).parent))

# Hundreds of tests start Python: each would compile the whole package anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def _use_memory_for_files():
    """Have pytest's folders in memory where there is room: ledgers wait for a disk at each commit.

    Nothing in them need survive the machine. PostgreSQL's folder stays where it is: it grows.
    """
    place = Path("/dev/shm")
    with contextlib.suppress(OSError):
        system = os.statvfs(place)
        has_room = system.f_bavail * system.f_frsize >= 2 << 30
        if has_room and os.access(place, os.W_OK) and not system.f_flag & os.ST_NOEXEC:
            os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(place))


_use_memory_for_files()

settings.register_profile("askwise", deadline=None, derandomize=True)
settings.load_profile("askwise")

FOLDER = Path(askwise._kernels.__file__).parent
KERNELS = tuple(
    ".".join(path.relative_to(FOLDER).with_suffix("").parts)
    for path in sorted(FOLDER.rglob("*.py"))
    if path.stem != "__init__"
)


def _plain_kernels():
    """The kernel modules once more, with Numba switched off: the same lines, interpreted."""
    names = [f"askwise._kernels.{name}" for name in KERNELS]
    compiled = {name: importlib.import_module(name) for name in names}
    for name in names:
        del sys.modules[name]
    numba.config.DISABLE_JIT = True
    try:
        return {name: importlib.import_module(name) for name in names}
    finally:
        numba.config.DISABLE_JIT = False
        sys.modules.update(compiled)
        for name, module in compiled.items():  # importing had put the plain ones there
            package, _, last = name.rpartition(".")
            setattr(sys.modules[package], last, module)


LONG = (
    "test_machine.py",
    "test_openapi.py",
    "test_chaos.py",
    "test_import.py",
    "test_experiment.py",
)
"""What takes longest begins first, so that no processor waits for it in the end, and what is set up
for long stays with one worker: others take over what is last."""


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name not in LONG)


def pytest_collection_finish():
    """Thousands of tests and all that they import stay: no collection need look at them again."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish():
    """What was never looked at can end again: DuckDB would report it as leaked."""
    gc.unfreeze()


@pytest.fixture(scope="session")
def postgres_of_all_tests():
    """The address of a PostgreSQL that all workers of a run of the tests share."""
    from chaos.databases import shared_postgres

    run = os.environ.get("PYTEST_XDIST_TESTRUNUID") or secrets.token_hex(16)
    with shared_postgres(run) as address:
        yield address


@pytest.fixture(params=["compiled", "plain"])
def kernels(request):
    """Runs a test with the kernels compiled, then again with the same kernels interpreted."""
    if request.param == "plain":
        request.getfixturevalue("plain_kernels")
    return request.param


@pytest.fixture
def plain_kernels(monkeypatch):
    """From here on the kernels are interpreted."""
    for name, module in _plain_kernels().items():
        monkeypatch.setitem(sys.modules, name, module)
