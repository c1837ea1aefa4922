"""`askwise doctor`: what is installed, compiled and reachable. It changes nothing."""

from __future__ import annotations

import os
import platform
import re
import socket
import urllib.error
import urllib.request
from contextlib import closing
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer

from askwise import __version__
from askwise.cli.app import command, say
from askwise.cli.serving import DEFAULT_DB, Db

EXTRAS = ("report", "logs", "service", "sklearn", "gym", "dask", "ray")
"""The extras for users; docs, bench and dev are for work on askwise."""

SECONDS = 3.0
"""Seconds that a server may take to answer."""

_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([\w-]+)['\"]")


@command("doctor", "askwise doctor", "askwise doctor --db postgresql://clinic@db/askwise")
def doctor(
    db: Db = DEFAULT_DB,
    host: Annotated[str, typer.Option(help="The address of the service.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65_535, help="Its port.")] = 8350,
) -> None:
    """Say what is installed, compiled and reachable; the exit code is 1 if the database is not."""
    where = f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"
    say(f"askwise {__version__}, Python {platform.python_version()}, {where}\n")
    for extra in EXTRAS:
        say(f"{extra:<9} {extra_installed(extra)}")
    say(f"\nkernels   {kernels_compiled()}")
    say(f"port      {service_reachable(host, port)}")
    is_good, said = database_reachable(db)
    say(f"database  {said}")
    if not is_good:
        raise typer.Exit(1)


def extra_installed(extra: str) -> str:
    """The versions of an extra's packages, or which are missing and how to install them."""
    missing, versions = [], []
    for name in packages_of(extra):
        try:
            versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        return f"not installed: {', '.join(missing)}; pip install 'askwise[{extra}]'"
    return f"installed: {', '.join(versions)}"


def packages_of(extra: str) -> list[str]:
    """The packages that an extra needs on this machine."""
    found = []
    for text in metadata.requires("askwise") or []:
        named, of = _NAME.match(text), _EXTRA.search(text)
        elsewhere = os.name == "nt" and "win32" in text
        if named and of and of[1] == extra and not elsewhere:
            found.append(named[0])
    return sorted(found)


def kernels_compiled() -> str:
    """How many kernels are compiled, and where they are cached."""
    from askwise.cli.kernels import kernels_on_disk

    kernels, compiled, folder = kernels_on_disk()
    if folder is None:
        return (
            "there is no folder to cache them in, so every process compiles anew: "
            "set NUMBA_CACHE_DIR to one that can be written"
        )
    later = "" if compiled else "; the first use of a learner compiles for 15 to 30 seconds"
    return f"{compiled} of {kernels} are compiled and cached, as in {folder}{later}"


def service_reachable(host: str, port: int) -> str:
    """Whether a service answers at the address, another program does, or the port is free."""
    bare = f"[{host}]" if ":" in host else host
    url = f"http://{bare}:{port}"
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=SECONDS) as answer:  # noqa: S310
            ready = answer.status == 200
        return f"{url} answers" + ("" if ready else ", but not as askwise does")
    except urllib.error.HTTPError as error:
        if error.code == 503:
            return f"{url} answers, but is not ready"
        return f"{url} answers with {error.code}: another program?"
    except (OSError, ValueError):
        pass
    try:
        with socket.create_connection((host, port), timeout=SECONDS):
            return f"{url}: the port is taken by another program; --port chooses another"
    except ConnectionRefusedError:
        return f"{url}: no service; the port is free for `askwise serve`"
    except OSError as error:
        return f"{url} cannot be reached: {error.strerror or error}"


def database_reachable(db: str) -> tuple[bool, str]:
    """Whether the ledger can be opened, and what was found. It creates no file."""
    from askwise.errors import AskwiseError
    from askwise.service.ledger.address import is_postgres, shown

    try:
        if not is_postgres(db) and not Path(db).exists():
            folder = Path(db).absolute().parent
            can_write = os.access(folder, os.W_OK)
            so = "`askwise serve` creates it" if can_write else f"{folder} cannot be written"
            return can_write, f"{shown(db)} does not exist yet; {so}"
        from askwise.service.ledger import open_ledger
        from askwise.service.ledger.schema import NEWEST

        with closing(open_ledger(db, migrate=False)) as ledger:
            version = ledger.schema_version()
            if 0 < version < NEWEST:
                return True, f"{shown(db)} answers; schema {version}: upgraded at the next start"
            if version > NEWEST:
                return (
                    False,
                    f"{shown(db)}: schema {version} is of a newer askwise: upgrade it here",
                )
            projects = [project.name for project in ledger.projects()]
    except AskwiseError as error:
        return False, f"{shown(db)}: {str(error).removeprefix(f'{db}: ')}"
    return True, f"{shown(db)} answers; projects: {', '.join(projects) or 'none'}"
